{{ config(materialized='incremental', unique_key='id') }}
select * from {{ ref('orders') }}
{% if is_incremental() %}
where ordered >= (select max(ordered) from {{ this }})
{% endif %}
