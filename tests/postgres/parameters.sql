-- Statements with parameters; {c} stands for each column of the table.

select 1 from pt where {c} = $1
select 1 from pt where $1 < {c}
select 1 from pt where {c} in ($1, $2)
select 1 from pt where {c} between $1 and $2
select 1 from pt where {c} = any($1)
update pt set {c} = $1 where i = $2
insert into pt ({c}) values ($1)
select coalesce({c}, $1) from pt
select coalesce($1, {c}) from pt
select case when bo then {c} else $1 end from pt
select {c} + $1 from pt
select $1 - {c} from pt
select {c} * $1 from pt
select {c} || $1 from pt
select $1 || {c} from pt
select nullif({c}, $1) from pt
select greatest({c}, $1) from pt
select {c} from pt union select $1
select 1 from pt where {c} is distinct from $1
insert into pt ({c}) select $1
select 1 from pt where ({c}, i) = ($1, $2)
select 1 from pt where ({c}, i) in (($1, $2))
update pt set ({c}, i) = ($1, $2)
select array[{c}, $1] from pt
select lag({c}, 1, $1) over () from pt
insert into pt (i, {c}) values (1, $1) on conflict (i) do update set {c} = $2
select {c} / $1 from pt
select {c} like $1 from pt
values ($1), ((select {c} from pt))
select count(*) from pt group by {c} having max({c}) = $1
insert into pt ({c}) values ($1), ($2) returning {c}
select $1
select $1::int
select $1 + 1
select 1 + $1
select $1 + $2
select 1.5 * $1
select $1 limit $2
select i from pt limit $1 offset $2
select left(t, $1) from pt
select left($1, $2)
select substr(t, $1, $2) from pt
select substring(t from $1 for $2) from pt
select repeat($1, $2)
select lpad($1, $2, $3)
select length($1)
select upper($1)
select lower($1) || $2
select concat($1, $2)
select format($1, $2)
select round($1)
select round($1, $2)
select round(n, $1) from pt
select abs($1)
select power($1, 2)
select sqrt($1)
select mod(i, $1) from pt
select da + $1 from pt
select da - $1 from pt
select ts - $1 from pt
select now() - $1
select now() - $1 * interval '1 day'
select now() - $1::interval
select interval '1 day' * $1
select date_trunc($1, ts) from pt
select date_trunc('day', $1)
select extract(year from $1::date)
select date_part('year', ts) from pt where ts > $1
select to_char(ts, $1) from pt
select to_date($1, $2)
select to_timestamp($1)
select make_date($1,$2,$3)
select age(ts, $1) from pt
select tz at time zone $1 from pt
select generate_series(1, $1)
select * from generate_series($1, $2) g
select * from generate_series($1::date, $2::date, '1 day') g
select unnest($1::int[])
select * from unnest($1::int[], $2::text[]) u(a,b)
select array_append(ai, $1) from pt
select $1 = any(ai) from pt
select array_position(ai, $1) from pt
select array_length($1, 1)
select array_to_string($1, $2)
select string_to_array($1, $2)
select ai && $1 from pt
select ai @> $1 from pt
select ai[$1] from pt
select cardinality(ai) = $1 from pt
select jb -> $1 from pt
select jb ->> $1 from pt
select jb #> $1 from pt
select jb @> $1 from pt
select jb ? $1 from pt
select jb || $1 from pt
select jb - $1 from pt
select jsonb_set(jb, $1, $2) from pt
select jsonb_build_object('a', $1)
select json_build_array($1, $2)
select to_jsonb($1)
select to_jsonb($1::text)
select jsonb_path_query(jb, $1) from pt
select jsonb_extract_path_text(jb, $1) from pt
select t ~ $1 from pt
select t ilike $1 from pt
select $1 like $2
select regexp_replace(t, $1, $2) from pt
select position($1 in t) from pt
select strpos(t, $1) from pt
select trim($1)
select trim(both $1 from t) from pt
select split_part(t, $1, $2) from pt
select md5($1)
select encode($1, $2)
select decode($1, $2)
select case $1 when 1 then 'a' else 'b' end
select case when $1 then 1 else 2 end
select case when i = $1 then $2 else $3 end from pt
select not $1
select $1 and bo from pt
select $1 is null
select $1 is true
select cast($1 as numeric(10,2))
select $1::text
select $1::uuid
select $1::jsonb ->> 'a'
select exists (select 1 from pt where i = $1)
select (select t from pt where i = $1)
select i from pt where t = (select $1)
select i from pt where i in (select b from pt where t = $1)
select i from pt where i > all (select $1::int)
select sum(i) + $1 from pt
select sum($1)
select count($1)
select string_agg(t, $1) from pt
select array_agg($1)
select max(i) filter (where t = $1) from pt
select percentile_cont($1) within group (order by i) from pt
select ntile($1) over () from pt
select lag(i, $1) over () from pt
select row_number() over (order by $1)
with x as (select $1 as a) select a from x
with x(a) as (values ($1, $2)) select * from x
select * from (values ($1, $2)) v(a, b)
select * from (values (1, 'a'), ($1, $2)) v(a, b)
select $1 union select 1
select $1 union all select $2
select distinct $1
select t from pt order by $1
select i from pt where bo = $1 and t = $2
select i from pt where $1 = $2
select i from pt where $1
select i from pt p where p.i = $1 or $1 is null
select i from pt where ($1 is null or t = $1)
select i from pt where ($1::text is null or t = $1)
select i from pt where t = coalesce($1, t)
select i from pt where i = $1 and b = $1
select i from pt where b = $1 and i = $1
select i from pt where n > $1 * 2
select i from pt where i + $1 > $2
select i from pt where -i = $1
select i from pt where i = -$1
select i from pt where upper(t) = $1
select i from pt where ts::date = $1
select i from pt where ts >= $1 and ts < $2
select i from pt where tz > now() - $1
select i from pt where i = $1::bigint
select i from pt where length(t) > $1
select i from pt where i % $1 = 0
delete from pt where i = $1 returning *
delete from pt where ts < $1
insert into pt (i, t, ts, jb) values ($1, $2, $3, $4) returning i
insert into pt (i, t) select $1, $2
insert into pt (i, t) select $1, $2 where not exists (select 1 from pt where i = $1)
insert into pt (i, b) values ($1, $1)
insert into pt (i, n) values ($1, $2 + 1)
insert into pt (i, t) values ($1, upper($2))
insert into pt (i, t) values ($1, $2 || 'x')
update pt set i = i + $1 where t = $2
update pt set t = $1 || t
update pt set jb = jb || $1
update pt set jb = jsonb_set(jb, '{a}', $1)
update pt set ts = now() - $1
update pt set n = n * $1
update pt set b = $1, s = $2
update pt set t = case when i = $1 then $2 else t end
update pt set t = coalesce($1, t) where i = $2
update pt p set t = x.t from (values ($1::int, $2)) x(i, t) where p.i = x.i
update pt p set t = x.t from (select $1 as i, $2 as t) x where p.i = x.i
select set_config($1, $2, $3)
select current_setting($1)
select pg_advisory_lock($1)
select pg_typeof($1)
select nextval($1)
select gen_random_uuid() = $1
select overlay(t placing $1 from $2) from pt
select t collate "C" = $1 from pt
select row($1, $2)
select row(i, t) = row($1, $2) from pt
select (i, t) < ($1, $2) from pt
select quote_literal($1)
select chr($1)
select ascii($1)
select to_number($1, $2)
select width_bucket($1, 0, 10, 5)
select least($1, 5)
select greatest($1, $2)
select nullif($1, '')
select nullif($1, 0)
select coalesce($1, 0)
select coalesce($1, 'x')
select coalesce($1, $2)
select random() < $1
select i from pt fetch first $1 rows only
select i from pt where t similar to $1
select i from pt where (da, da) overlaps ($1, $2)
