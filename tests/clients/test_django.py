"""Django: the migrations of its own applications and of one here, and its ORM."""

import datetime as dt
import decimal
import uuid

import django
import pytest
from django.conf import settings

from conftest import ADDRESS

settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "HOST": ADDRESS["host"],
            "PORT": ADDRESS["port"],
            "USER": ADDRESS["user"],
            "NAME": ADDRESS["database"],
            "OPTIONS": {"options": "-c search_path=django"},
        }
    },
    INSTALLED_APPS=[
        "django.contrib.contenttypes",
        "django.contrib.auth",
        "django.contrib.sessions",
        "django.contrib.admin",
        "django.contrib.messages",
        "django_app",
    ],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=True,
    # Nothing is served.
    SILENCED_SYSTEM_CHECKS=["admin.E403", "admin.E408", "admin.E409", "admin.E410"],
)
django.setup()

from django.contrib.auth.models import Permission, User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import IntegrityError, connection, transaction  # noqa: E402
from django.db.models import Avg, Count, F, Q, Sum, Window  # noqa: E402
from django.db.models.functions import Rank, TruncMonth, Upper  # noqa: E402
from django.utils import timezone  # noqa: E402

from django_app.models import Author, Book, Tag  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def migrated(server, tmp_path_factory):
    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA django")
    call_command("migrate", run_syncdb=True, verbosity=0)
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA django CASCADE")
    connection.close()


def test_migrations_went_through_and_are_found_again():
    tables = set(connection.introspection.table_names())
    assert {"auth_user", "django_migrations", "django_session", "django_app_book"} <= tables
    assert Permission.objects.count() > 20
    call_command("migrate", run_syncdb=True, verbosity=0)
    call_command("check", databases=["default"])
    with connection.cursor() as cursor:
        constraints = connection.introspection.get_constraints(cursor, "django_app_book")
        assert constraints["price_is_not_negative"]["check"]
        assert constraints["book_author_title"]["columns"] == ["author_id", "title"]
        fields = connection.introspection.get_table_description(cursor, "django_app_book")
        assert {field.name for field in fields} >= {"id", "title", "price", "details"}
        relations = connection.introspection.get_relations(cursor, "django_app_book")
        assert relations["author_id"][:2] == ("id", "django_app_author")


def test_migrations_go_back():
    call_command("migrate", "auth", "0010", verbosity=0)
    call_command("migrate", "auth", verbosity=0)
    call_command("sqlmigrate", "auth", "0001", stdout=open("/dev/null", "w"))


def test_users():
    user = User.objects.create_user("anna", password="secret")
    assert user.check_password("secret")
    user.user_permissions.add(Permission.objects.order_by("id").first())
    assert User.objects.filter(user_permissions__isnull=False).count() == 1
    user.delete()


def test_the_orm():
    code = uuid.uuid4()
    anna = Author.objects.create(name="Anna", born=dt.date(1970, 2, 3))
    bert = Author.objects.create(name="Bert")
    books = [
        Book(title=f"Book {n}", author=anna if n % 3 else bert, price=decimal.Decimal(n) / 4, details={"n": n})
        for n in range(60)
    ]
    Book.objects.bulk_create(books)
    assert Book.objects.count() == 60 and books[0].pk is not None
    first = Book.objects.get(title="Book 1")
    first.code = code
    first.tags.add(Tag.objects.create(name="new"), Tag.objects.create(name="old"))
    first.save()
    found = Book.objects.select_related("author").prefetch_related("tags").get(code=code)
    assert (found.author.name, found.author.born, found.price) == ("Anna", dt.date(1970, 2, 3), decimal.Decimal("0.25"))
    assert sorted(tag.name for tag in found.tags.all()) == ["new", "old"]
    assert found.details == {"n": 1} and found.added.tzinfo is not None

    totals = Author.objects.annotate(n=Count("books"), total=Sum("books__price")).order_by("name")
    assert [(author.name, author.n) for author in totals] == [("Anna", 40), ("Bert", 20)]
    assert Book.objects.aggregate(mean=Avg("price"))["mean"] == decimal.Decimal("7.375")
    assert Book.objects.filter(Q(title__icontains="BOOK 5") | Q(price__lt=1), author__name__startswith="A").count() == 10
    assert Book.objects.filter(details__n__gte=58).count() == 2
    assert Book.objects.filter(price__lt=1).update(price=F("price") + 10) == 4
    assert Book.objects.annotate(upper=Upper("title")).order_by("-upper").first().upper == "BOOK 9"
    ranked = Book.objects.annotate(rank=Window(Rank(), partition_by=F("author"), order_by=F("price").desc()))
    assert ranked.filter(rank=1).count() == 2
    assert Book.objects.annotate(month=TruncMonth("added")).values("month").annotate(n=Count("id")).get()["n"] == 60
    assert Book.objects.filter(added__date=timezone.localdate(found.added)).count() == 60
    assert Book.objects.in_bulk([found.pk])[found.pk].title == "Book 1"
    assert len(Book.objects.order_by("title")[10:20]) == 10
    assert sum(1 for _ in Book.objects.order_by("pk").iterator(chunk_size=7)) == 60
    author, created = Author.objects.get_or_create(name="Carla")
    assert created and not Author.objects.update_or_create(name="Carla", defaults={"born": dt.date(2000, 1, 1)})[1]
    Author.objects.bulk_create([Author(name="Carla"), Author(name="Dora")], ignore_conflicts=True)
    assert Author.objects.count() == 4
    assert anna.delete()[0] >= 41
    assert Book.objects.count() == 20


def test_errors_and_transactions():
    with pytest.raises(IntegrityError), transaction.atomic():
        Author.objects.create(name="Emil")
        Author.objects.create(name="Emil")
    assert not Author.objects.filter(name="Emil").exists()
    author = Author.objects.create(name="Fred")
    with transaction.atomic():
        with pytest.raises(IntegrityError), transaction.atomic():
            Book.objects.create(title="Below", author=author, price=-1)
        assert Author.objects.select_for_update().get(pk=author.pk).name == "Fred"
    with pytest.raises(IntegrityError), transaction.atomic():
        Book.objects.create(title="No author", author_id=987654, price=1)
    author.delete()
