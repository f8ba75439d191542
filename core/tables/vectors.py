"""Embeddings by text and model; vectors of different models never mix."""

from sqlmodel import Field, SQLModel


class Embedding(SQLModel, table=True):
    """One cached vector: float32, little endian, unit length."""

    __tablename__ = "embedding"

    text_hash: str = Field(primary_key=True, description="SHA-256 of kind and text.")
    model: str = Field(primary_key=True)
    vector: bytes


class QueryRewrite(SQLModel, table=True):
    """A query with the words of intent that the model added to it."""

    __tablename__ = "query_rewrite"

    id: str = Field(primary_key=True, description="Computed from the model's name and the query.")
    text: str
