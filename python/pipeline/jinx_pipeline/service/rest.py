"""The REST interface: operators, datasets, plans and jobs."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import cached_property
from html import escape
from typing import Any, Final

from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from jinx._viewer.media import whole
from jinx._viewer.query import Query
from jinx._viewer.shown import path_of
from jinx_pipeline.report.graph_picture import cut
from jinx_pipeline.report.graph_svg import MAX_CHARACTERS
from jinx_pipeline.service import answers
from jinx_pipeline.service.errors import ServiceError, not_found
from jinx_pipeline.service.events import position_of, stream
from jinx_pipeline.service.job_files import JobFiles
from jinx_pipeline.service.openapi import document
from jinx_pipeline.service.operations import Call, Operation, routes_of
from jinx_pipeline.service.plans import Plan
from jinx_pipeline.service.types import (
    ColumnList,
    DatasetAnswer,
    DatasetList,
    JobAnswer,
    JobList,
    JobRequest,
    ListQuery,
    LogAnswer,
    MediaQuery,
    OffsetQuery,
    OperatorAnswer,
    OperatorList,
    PlanAnswer,
    PlanRequest,
    QuarantineAnswer,
    RowList,
    RowsQuery,
    SearchQuery,
    StatsAnswer,
    StatsQuery,
)
from jinx_pipeline.service.views import view_address
from jinx_pipeline.service.workplace import Workplace

_MAX_STREAMS: Final = 32
_MAX_COLUMNS: Final = 64
_SVG: Final = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
_REPORT: Final = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"}


class Rest:
    """The REST interface.

    Args:
        place: The workplace.
    """

    def __init__(self, place: Workplace) -> None:
        self._place = place
        self._streams = 0

    def routes(self) -> list[Route]:
        """The routes."""
        return [Route("/v1/openapi.json", self._document), *routes_of(self.operations)]

    @cached_property
    def operations(self) -> list[Operation]:
        """The operations; if two match a path, the first is used."""
        name, job = "/v1/datasets/{name:path}", "/v1/jobs/{job}"
        get, post = "GET", "POST"
        return [
            Operation(get, "/v1/operators", "listOperators", "List operators, or find them by words.",
                      self.list_operators, query=SearchQuery, answer=OperatorList),
            Operation(get, "/v1/operators/{operator}", "getOperator", "Describe an operator.",
                      self.get_operator, answer=OperatorAnswer),
            Operation(get, "/v1/datasets", "listDatasets", "List the datasets.", self.list_datasets,
                      answer=DatasetList),
            Operation(get, f"{name}/rows", "listRows", "List rows; long strings are cut, media are links.",
                      self.list_rows, query=RowsQuery, answer=RowList),
            Operation(get, f"{name}/columns", "listColumns", "List columns.", self.list_columns, answer=ColumnList),
            Operation(get, f"{name}/stats", "getStats", "Count the values of columns.", self.get_stats,
                      query=StatsQuery, answer=StatsAnswer),
            Operation(get, f"{name}/media", "getMedia", "Read a binary value.", self.get_media, query=MediaQuery,
                      media_type="*/*", headers=(("Range", "Bytes to read, such as `bytes=0-1023`."),)),
            Operation(get, name, "getDataset", "Describe a dataset.", self.get_dataset, answer=DatasetAnswer),
            Operation(post, "/v1/plans", "makePlan", "Check a recipe, and try it on a few samples.", self.make_plan,
                      body=PlanRequest, answer=PlanAnswer, status=201),
            Operation(get, "/v1/plans/{plan}", "getPlan", "Describe a plan.", self.get_plan, answer=PlanAnswer),
            Operation(get, "/v1/plans/{plan}/graph", "getGraph", "Draw a plan.", self.get_graph,
                      media_type="image/svg+xml"),
            Operation(post, "/v1/jobs", "startJob", "Run a plan.", self.start_job, body=JobRequest, answer=JobAnswer,
                      status=202, headers=(("Idempotency-Key", "Requests with the same key start one job."),)),
            Operation(get, "/v1/jobs", "listJobs", "List jobs, the newest first.", self.list_jobs, query=ListQuery,
                      answer=JobList),
            Operation(get, job, "getJob", "Describe a job.", self.get_job, answer=JobAnswer),
            Operation(post, f"{job}/cancel", "cancelJob", "Cancel a job.", self.cancel_job, answer=JobAnswer,
                      status=202),
            Operation(get, f"{job}/events", "getEvents", "Follow a job until it ends.", self.get_events,
                      media_type="text/event-stream", headers=(("Last-Event-ID", "Continue after this event."),)),
            Operation(get, f"{job}/log", "getLog", "Read the log.", self.get_log, query=OffsetQuery,
                      answer=LogAnswer),
            Operation(get, f"{job}/quarantine", "getQuarantine", "List rows on which something failed.",
                      self.get_quarantine, query=ListQuery, answer=QuarantineAnswer),
            Operation(get, f"{job}/report", "getReport", "Read the report of an ended job.", self.get_report,
                      media_type="text/html"),
        ]  # fmt: skip

    async def _document(self, request: Any) -> Response:
        del request
        return Response(json.dumps(document(self.operations)), media_type="application/json")

    async def list_operators(self, call: Call) -> OperatorList:
        """The operators that are available."""
        return OperatorList(answers.operator_list(self._place, call.query.query, call.query.limit))

    async def get_operator(self, call: Call) -> OperatorAnswer:
        """One operator."""
        return answers.operator_answer(self._place, call.path["operator"])

    def list_datasets(self, call: Call) -> DatasetList:
        """The datasets below the roots."""
        del call
        return DatasetList(self._place.roots.datasets())

    def get_dataset(self, call: Call) -> DatasetAnswer:
        """One dataset."""
        name = call.path["name"]
        about = self._place.datasets.shown(name).about()
        return DatasetAnswer(name, about["samples"], about["columns"], view_address(name))

    def list_columns(self, call: Call) -> ColumnList:
        """The columns of a dataset, and which can have a chart."""
        about = self._place.datasets.shown(call.path["name"]).about()
        kinds = {chart["name"]: chart["kind"] for chart in about["charts"]}
        return ColumnList([{"name": name, "chart": kinds.get(name)} for name in about["columns"]])

    def list_rows(self, call: Call) -> RowList:
        """A page of rows."""
        asked = call.query
        query = Query(asked.where.strip(), asked.find.strip(), (), asked.sort.strip())
        return RowList(**self._place.datasets.shown(call.path["name"]).page(query, asked.start, asked.count))

    def get_stats(self, call: Call) -> StatsAnswer:
        """Counts of the values of columns."""
        names = [name for name in call.query.columns.split(",") if name][:_MAX_COLUMNS]
        query = Query(call.query.where.strip())
        return StatsAnswer(**self._place.datasets.shown(call.path["name"]).chart_counts(query, names))

    def get_media(self, call: Call) -> Response:
        """A binary value."""
        shown = self._place.datasets.shown(call.path["name"])
        return whole(shown.binary(call.query.sample, path_of(call.query.path)), call.headers.get("range"))

    def make_plan(self, call: Call) -> PlanAnswer:
        """Check and try a recipe."""
        return _plan_answer(self._place.plans.make(call.body.recipe, samples=call.body.samples))

    def get_plan(self, call: Call) -> PlanAnswer:
        """One plan."""
        return _plan_answer(self._place.plans.get(call.path["plan"]))

    def get_graph(self, call: Call) -> Response:
        """The picture of a plan."""
        return Response(self._place.plans.get(call.path["plan"]).graph, headers=_SVG, media_type="image/svg+xml")

    def start_job(self, call: Call) -> Response:
        """Queue a plan."""
        from msgspec.json import encode

        plan = self._place.plans.get(call.body.plan)
        job, _ = self._place.jobs.add(plan, call.headers.get("idempotency-key"))
        location = {"location": f"/v1/jobs/{job.id}"}
        return Response(encode(answers.job_answer(self._place, job)), 202, location, "application/json")

    def list_jobs(self, call: Call) -> JobList:
        """A page of jobs."""
        jobs = self._place.jobs.all()
        page = jobs[call.query.start : call.query.start + call.query.count]
        return JobList([answers.job_answer(self._place, job) for job in page], len(jobs))

    async def get_job(self, call: Call) -> JobAnswer:
        """One job."""
        return answers.job_answer(self._place, self._place.jobs.get(call.path["job"]))

    def cancel_job(self, call: Call) -> JobAnswer:
        """Cancel a job."""
        job = self._place.jobs.get(call.path["job"])
        self._place.jobs.cancel(job)
        return answers.job_answer(self._place, job)

    async def get_events(self, call: Call) -> Response:
        """The events of a job, as they happen."""
        job = self._place.jobs.get(call.path["job"])
        if self._streams >= _MAX_STREAMS:
            raise ServiceError(503, "too_many_streams", f"{_MAX_STREAMS} clients follow jobs already", retry_seconds=5)
        return StreamingResponse(self._counted(job, position_of(call.headers.get("last-event-id"))),
                                 media_type="text/event-stream")  # fmt: skip

    async def _counted(self, job: JobFiles, position: int) -> AsyncIterator[bytes]:
        self._streams += 1
        try:
            async for part in stream(self._place, job, position):
                yield part
        finally:
            self._streams -= 1

    def get_log(self, call: Call) -> LogAnswer:
        """A part of the log of a job."""
        return answers.log_answer(self._place, self._place.jobs.get(call.path["job"]), call.query.offset)

    def get_quarantine(self, call: Call) -> QuarantineAnswer:
        """Rows on which something failed."""
        job = self._place.jobs.get(call.path["job"])
        return answers.quarantine_answer(self._place, job, call.query.start, call.query.count)

    def get_report(self, call: Call) -> Response:
        """The report of an ended job."""
        job = self._place.jobs.get(call.path["job"])
        try:
            text = (job.directory / "report.html").read_text("utf-8")
        except FileNotFoundError:
            raise not_found(f"{job.id} has no report") from None
        return Response(self._hidden(text, job), headers=_REPORT, media_type="text/html")

    def _hidden(self, report: str, job: JobFiles) -> str:
        """A report in which paths of this machine are names for clients, also those that its graph has cut."""
        # Paths are whole only without the places where they may be broken.
        report = report.replace("<wbr>", "")
        roots = self._place.roots
        for path in _strings(self._place.plans.get(job.order.plan).data):
            if roots.hidden(path) != path:
                name = cut(roots.hidden(path), MAX_CHARACTERS)
                report = report.replace(escape(cut(path, MAX_CHARACTERS)), escape(name))
        return roots.hidden(report)


def _strings(value: Any) -> Iterator[str]:
    """All strings in lists and dicts."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for member in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(member)


def _plan_answer(plan: Plan) -> PlanAnswer:
    return PlanAnswer(plan.id, plan.given, plan.reads, plan.writes, plan.operators, plan.dry_run)
