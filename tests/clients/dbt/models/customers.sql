{{ config(materialized='table') }}
select customer, count(*) as orders, sum(amount) as total, max(ordered) as last from {{ ref('orders') }} group by customer
