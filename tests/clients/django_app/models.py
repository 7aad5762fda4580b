"""A library: its models are what migrations are made of."""

from django.db import models


class Author(models.Model):
    name = models.CharField(max_length=80, unique=True)
    born = models.DateField(null=True)

    class Meta:
        app_label = "django_app"


class Tag(models.Model):
    name = models.SlugField(unique=True)

    class Meta:
        app_label = "django_app"


class Book(models.Model):
    title = models.CharField(max_length=200, db_index=True)
    author = models.ForeignKey(Author, on_delete=models.CASCADE, related_name="books")
    price = models.DecimalField(max_digits=8, decimal_places=2)
    tags = models.ManyToManyField(Tag)
    details = models.JSONField(default=dict)
    code = models.UUIDField(null=True)
    added = models.DateTimeField(auto_now_add=True)
    in_print = models.BooleanField(default=True)

    class Meta:
        app_label = "django_app"
        constraints = [models.CheckConstraint(condition=models.Q(price__gte=0), name="price_is_not_negative")]
        indexes = [models.Index(fields=["author", "title"], name="book_author_title")]
