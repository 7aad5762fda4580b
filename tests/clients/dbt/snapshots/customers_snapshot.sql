{% snapshot customers_snapshot %}
{{ config(target_schema='dbt', unique_key='customer', strategy='check', check_cols=['orders', 'total']) }}
select * from {{ ref('customers') }}
{% endsnapshot %}
