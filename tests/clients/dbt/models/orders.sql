select id, customer, ordered::date as ordered, amount::numeric(10, 2) as amount from {{ ref('raw_orders') }}
