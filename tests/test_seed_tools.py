"""Programs written for a well-known agent library run here with only their imports changed.

Each test is such a program as its documentation prints it, with a scripted model in the provider's
place. Where one wires a tool to a state key that its agent has not got, the agent says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any

import pytest

from detent.adapters.agent.agent import Agent
from detent.adapters.confirmation.printing import print_streaming_chunk
from detent.adapters.testing.doubles.scripted import ScriptedChatGenerator
from detent.adapters.tools.component_tool import ComponentTool, component
from detent.adapters.tools.decorator import tool
from detent.adapters.tools.documents import Document
from detent.core.chat.messages import ChatMessage, ToolCall
from detent.core.errors import WiringError
from detent.core.state.state import State
from detent.core.tools.tool import Tool

Model = Callable[..., ScriptedChatGenerator]


def calling(*calls: ToolCall, said: str = "done") -> Model:
    """A provider whose model makes these calls, one in each turn, and then says something."""
    lines = [ChatMessage.from_assistant(tool_calls=[call]) for call in calls]
    return lambda model="": ScriptedChatGenerator(*lines, said)


def calculate(expression: str) -> dict:  # type: ignore[type-arg]  # pyright: ignore[reportUnknownParameterType]  # as it is printed
    """Evaluate a mathematical expression."""
    result = eval(expression, {"__builtins__": {}})  # noqa: S307 - as it is printed
    return {"result": result}


calculator_tool = Tool(
    name="calculator",
    description="Evaluate basic math expressions",
    parameters={
        "type": "object",
        "properties": {"expression": {"type": "string"}},
        "required": ["expression"],
    },
    function=calculate,
    outputs_to_state={"calc_result": {"source": "result"}},
)


def test_a_calculator_writes_its_result_to_the_state(capsys: pytest.CaptureFixture[str]) -> None:
    """State: using State with agents."""
    OpenAIChatGenerator = calling(ToolCall("calculator", {"expression": "15 + 27"}))  # noqa: N806 - the provider

    agent = Agent(
        chat_generator=OpenAIChatGenerator(),
        tools=[calculator_tool],
        state_schema={"calc_result": {"type": int}},
    )
    result = agent.run(messages=[ChatMessage.from_user("Calculate 15 + 27")])
    calc_result = result["calc_result"]
    print(calc_result)  # noqa: T201 - as it is printed

    assert capsys.readouterr().out == "42\n"


def test_a_search_reads_the_user_from_the_state() -> None:
    """State: reading from State, with a schema written by hand."""
    OpenAIChatGenerator = calling(  # noqa: N806 - the provider
        ToolCall("search", {"query": "Python tutorials", "user_context": "Mallory"})
    )

    def search_documents(query: str, user_context: str) -> dict:  # type: ignore[type-arg]  # pyright: ignore[reportUnknownParameterType]  # as it is printed
        """Search documents using query and user context."""
        return {"results": [f"Found results for '{query}' (user: {user_context})"]}

    search_tool = Tool(
        name="search",
        description="Search documents",
        parameters={
            "type": "object",
            "properties": {"query": {"type": "string"}, "user_context": {"type": "string"}},
            "required": ["query"],
        },
        function=search_documents,
        inputs_from_state={"user_name": "user_context"},
    )
    agent = Agent(
        chat_generator=OpenAIChatGenerator(),
        tools=[search_tool],
        state_schema={"user_name": {"type": str}, "search_results": {"type": list}},
    )
    result = agent.run(
        messages=[ChatMessage.from_user("Search for Python tutorials")], user_name="Alice"
    )

    assert result.messages[-2].tool_call_results[0].text == (
        '{"results": ["Found results for \'Python tutorials\' (user: Alice)"]}'
    )
    assert "user_context" not in search_tool.spec.parameters["properties"]  # type: ignore[operator]  # it is a mapping


def retrieve_documents(query: str) -> dict:  # type: ignore[type-arg]  # pyright: ignore[reportUnknownParameterType]  # as it is printed
    """Retrieve documents based on query."""
    return {
        "documents": [
            {"title": "Doc 1", "content": "Content about Python"},
            {"title": "Doc 2", "content": "More about Python"},
        ],
        "count": 2,
        "query": query,
    }


retrieval_tool = Tool(
    name="retrieve",
    description="Retrieve relevant documents",
    parameters={
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
    },
    function=retrieve_documents,
    outputs_to_state={
        "documents": {"source": "documents"},
        "result_count": {"source": "count"},
        "last_query": {"source": "query"},
    },
)


def test_a_retrieval_writes_several_keys(capsys: pytest.CaptureFixture[str]) -> None:
    """State: writing to State."""
    OpenAIChatGenerator = calling(ToolCall("retrieve", {"query": "Python"}))  # noqa: N806 - the provider

    agent = Agent(
        chat_generator=OpenAIChatGenerator(),
        tools=[retrieval_tool],
        state_schema={
            "documents": {"type": list},
            "result_count": {"type": int},
            "last_query": {"type": str},
        },
    )
    result = agent.run(messages=[ChatMessage.from_user("Find information about Python")])
    documents = result["documents"]
    result_count = result["result_count"]
    last_query = result["last_query"]
    print(documents)  # noqa: T201 - as it is printed
    print(result_count)  # noqa: T201 - as it is printed
    print(last_query)  # noqa: T201 - as it is printed

    assert capsys.readouterr().out == (
        "[{'title': 'Doc 1', 'content': 'Content about Python'}, "
        "{'title': 'Doc 2', 'content': 'More about Python'}]\n2\nPython\n"
    )


def test_without_a_source_the_whole_result_is_stored(capsys: pytest.CaptureFixture[str]) -> None:
    """State: omitting the source."""
    OpenAIChatGenerator = calling(ToolCall("get_info"))  # noqa: N806 - the provider

    def get_user_info() -> dict:  # type: ignore[type-arg]  # pyright: ignore[reportUnknownParameterType]  # as it is printed
        """Get user information."""
        return {"name": "Alice", "email": "alice@example.com", "role": "admin"}

    info_tool = Tool(
        name="get_info",
        description="Get user information",
        parameters={"type": "object", "properties": {}},
        function=get_user_info,
        outputs_to_state={"user_info": {}},
    )
    agent = Agent(
        chat_generator=OpenAIChatGenerator(),
        tools=[info_tool],
        state_schema={"user_info": {"type": dict}},
    )
    result = agent.run(messages=[ChatMessage.from_user("Get the user information")])
    user_info: Any = result["user_info"]
    print(user_info)  # noqa: T201 - as it is printed
    print(user_info["name"])  # noqa: T201 - as it is printed
    print(user_info["email"])  # noqa: T201 - as it is printed

    assert capsys.readouterr().out == (
        "{'name': 'Alice', 'email': 'alice@example.com', 'role': 'admin'}\n"
        "Alice\nalice@example.com\n"
    )


def process_documents(documents: list, max_results: int) -> dict:  # type: ignore[type-arg]  # pyright: ignore[reportUnknownParameterType]  # as it is printed
    """Process documents and return filtered results."""
    processed = documents[:max_results]
    return {"processed_docs": processed, "processed_count": len(processed)}


processing_tool = Tool(
    name="process",
    description="Process retrieved documents",
    parameters={
        "type": "object",
        "properties": {"max_results": {"type": "integer"}},
        "required": ["max_results"],
    },
    function=process_documents,
    inputs_from_state={"documents": "documents"},
    outputs_to_state={
        "final_docs": {"source": "processed_docs"},
        "final_count": {"source": "processed_count"},
    },
)


def test_tools_chain_through_the_state(capsys: pytest.CaptureFixture[str]) -> None:
    """State: combining inputs and outputs. As printed, two keys are missing, which is said."""
    OpenAIChatGenerator = calling(  # noqa: N806 - the provider
        ToolCall("retrieve", {"query": "Python"}), ToolCall("process", {"max_results": 3})
    )
    schema = {
        "documents": {"type": list},
        "final_docs": {"type": list},
        "final_count": {"type": int},
    }
    with pytest.raises(WiringError) as caught:
        Agent(
            chat_generator=OpenAIChatGenerator(),
            tools=[retrieval_tool, processing_tool],
            state_schema=schema,
        )
    assert [fault.split(" is not")[0] for fault in caught.value.faults] == [
        "tool 'retrieve': 'result_count'",
        "tool 'retrieve': 'last_query'",
    ]

    agent = Agent(
        chat_generator=OpenAIChatGenerator(),
        tools=[retrieval_tool, processing_tool],
        state_schema={**schema, "result_count": {"type": int}, "last_query": {"type": str}},
    )
    result = agent.run(
        messages=[ChatMessage.from_user("Find and process 3 documents about Python")]
    )
    final_docs = result["final_docs"]
    final_count = result["final_count"]
    print(f"Processed {final_count} documents")  # noqa: T201 - as it is printed
    print(final_docs)  # noqa: T201 - as it is printed

    assert capsys.readouterr().out == (
        "Processed 2 documents\n"
        "[{'title': 'Doc 1', 'content': 'Content about Python'}, "
        "{'title': 'Doc 2', 'content': 'More about Python'}]\n"
    )


def test_a_workflow_of_two_tools(capsys: pytest.CaptureFixture[str]) -> None:
    """State: the complete example."""
    OpenAIChatGenerator = calling(  # noqa: N806 - the provider
        ToolCall("factorial", {"n": 5}),
        ToolCall("calculator", {"expression": "120 * 2"}),
        said="240",
    )

    def factorial(n: int) -> dict:  # type: ignore[type-arg]  # pyright: ignore[reportUnknownParameterType]  # as it is printed
        """Calculate the factorial of a number."""
        result = math.factorial(n)
        return {"result": result}

    factorial_tool = Tool(
        name="factorial",
        description="Calculate the factorial of a number",
        parameters={
            "type": "object",
            "properties": {"n": {"type": "integer"}},
            "required": ["n"],
        },
        function=factorial,
        outputs_to_state={"factorial_result": {"source": "result"}},
    )
    agent = Agent(
        chat_generator=OpenAIChatGenerator(),
        tools=[calculator_tool, factorial_tool],
        state_schema={"calc_result": {"type": int}, "factorial_result": {"type": int}},
    )
    result = agent.run(
        messages=[ChatMessage.from_user("Calculate the factorial of 5, then multiply it by 2")]
    )
    factorial_result = result["factorial_result"]
    calc_result = result["calc_result"]
    messages: Any = result["messages"]
    for message in messages:
        print(f"{message.role}: {message.text}")  # noqa: T201 - as it is printed

    assert (factorial_result, calc_result) == (120, 240)
    assert capsys.readouterr().out.splitlines()[-1] == "assistant: 240"


def test_a_decorated_tool_reads_from_the_state(capsys: pytest.CaptureFixture[str]) -> None:
    """State, newer: inputs_from_state."""
    OpenAIChatGenerator = calling(  # noqa: N806 - the provider
        ToolCall("search_documents", {"query": "Python tutorials"}), said="Found some."
    )

    @tool(inputs_from_state={"user_name": "user_context"})
    def search_documents(  # pyright: ignore[reportUnknownParameterType]  # as it is printed
        query: Annotated[str, "The search query"],
        user_context: str,
    ) -> dict:  # type: ignore[type-arg]  # pyright: ignore[reportUnknownParameterType]  # as it is printed
        """Search documents using query and user context."""
        return {"results": [f"Found results for '{query}' (user: {user_context})"]}

    agent = Agent(
        chat_generator=OpenAIChatGenerator(model="gpt-5.4-nano"),
        tools=[search_documents],
        system_prompt="Use the search_documents tool to find information.",
        streaming_callback=print_streaming_chunk,
        state_schema={"user_name": {"type": str}},
    )
    result = agent.run(
        messages=[ChatMessage.from_user("Search for Python tutorials")],
        user_name="Alice",
    )
    last: Any = result["last_message"]
    print(last.text)  # noqa: T201 - as it is printed

    assert capsys.readouterr().out.endswith("Found some.\n")
    assert "(user: Alice)" in result.messages[-2].tool_call_results[0].text
    assert search_documents.spec.parameters["properties"] == {
        "query": {"type": "string", "description": "The search query"}
    }


@tool(
    outputs_to_state={
        "documents": {"source": "documents"},
        "result_count": {"source": "count"},
        "last_query": {"source": "query"},
    },
)
def retrieve(  # pyright: ignore[reportUnknownParameterType]  # as it is printed
    query: Annotated[str, "The search query"],
) -> dict:  # type: ignore[type-arg]  # pyright: ignore[reportUnknownParameterType]  # as it is printed
    """Retrieve relevant documents."""
    return retrieve_documents(query)


def test_decorated_tools_chain_through_the_state(capsys: pytest.CaptureFixture[str]) -> None:
    """State, newer: outputs_to_state, and combining inputs and outputs."""
    OpenAIChatGenerator = calling(  # noqa: N806 - the provider
        ToolCall("retrieve", {"query": "Python"}), ToolCall("process_documents", {"max_results": 1})
    )

    @tool(
        inputs_from_state={"documents": "documents"},
        outputs_to_state={
            "final_docs": {"source": "processed_docs"},
            "final_count": {"source": "processed_count"},
        },
    )
    def process_documents(  # pyright: ignore[reportUnknownParameterType]  # as it is printed
        max_results: Annotated[int, "Maximum number of documents to return"],
        documents: list = None,  # type: ignore[assignment,type-arg]  # noqa: RUF013 - as it is printed
    ) -> dict:  # type: ignore[type-arg]  # pyright: ignore[reportUnknownParameterType]  # as it is printed
        """Process retrieved documents and return a filtered subset."""
        processed = (documents or [])[:max_results]
        return {"processed_docs": processed, "processed_count": len(processed)}

    agent = Agent(
        chat_generator=OpenAIChatGenerator(model="gpt-5.4-nano"),
        tools=[retrieve, process_documents],
        system_prompt="Use the available tools to retrieve and process documents.",
        state_schema={
            "documents": {"type": list},
            "result_count": {"type": int},
            "last_query": {"type": str},
            "final_docs": {"type": list},
            "final_count": {"type": int},
        },
    )
    result = agent.run(
        messages=[ChatMessage.from_user("Find and process 3 documents about Python")],
    )
    print(f"Processed {result['final_count']} documents")  # noqa: T201 - as it is printed
    print(f"Result count: {result['result_count']}")  # noqa: T201 - as it is printed
    print(f"Last query: {result['last_query']}")  # noqa: T201 - as it is printed

    assert capsys.readouterr().out == (
        "Processed 1 documents\nResult count: 2\nLast query: Python\n"
    )


def test_a_decorated_tool_stores_its_whole_result(capsys: pytest.CaptureFixture[str]) -> None:
    """State, newer: omitting the source."""
    OpenAIChatGenerator = calling(ToolCall("get_user_info"), said="It is Alice.")  # noqa: N806 - the provider

    @tool(outputs_to_state={"user_info": {}})
    def get_user_info() -> dict:  # type: ignore[type-arg]  # pyright: ignore[reportUnknownParameterType]  # as it is printed
        """Get user information."""
        return {"name": "Alice", "email": "alice@example.com", "role": "admin"}

    agent = Agent(
        chat_generator=OpenAIChatGenerator(model="gpt-5.4-nano"),
        tools=[get_user_info],
        system_prompt="Use the get_user_info tool to look up user details.",
        state_schema={"user_info": {"type": dict}},
    )
    result = agent.run(messages=[ChatMessage.from_user("What are the user's details?")])
    last: Any = result["last_message"]
    print(last.text)  # noqa: T201 - as it is printed
    print(f"User info: {result['user_info']}")  # noqa: T201 - as it is printed

    assert capsys.readouterr().out == (
        "It is Alice.\n"
        "User info: {'name': 'Alice', 'email': 'alice@example.com', 'role': 'admin'}\n"
    )


def test_a_tool_gets_the_state_itself() -> None:
    """State, newer: injecting State directly into tools."""
    OpenAIChatGenerator = calling(ToolCall("retrieve_and_store", {"query": "Python"}))  # noqa: N806 - the provider

    @tool
    def retrieve_and_store(
        query: Annotated[str, "The search query"],
        state: State,
    ) -> str:
        """Retrieve documents and store them directly in state."""
        documents = [Document(content=f"Result for '{query}'")]
        state.set("documents", documents)
        user_name = state.get("user_name", "unknown")
        return f"Retrieved {len(documents)} document(s) for {user_name}"

    agent = Agent(
        chat_generator=OpenAIChatGenerator(model="gpt-5.4-nano"),
        tools=[retrieve_and_store],
        system_prompt="Use the retrieve_and_store tool to find documents.",
        state_schema={"documents": {"type": list[Document]}, "user_name": {"type": str}},
    )
    result = agent.run(
        messages=[ChatMessage.from_user("Find documents about Python")],
        user_name="Alice",
    )

    assert result.messages[-2].tool_call_results[0].text == "Retrieved 1 document(s) for Alice"
    assert result["documents"] == [Document(content="Result for 'Python'")]


def test_a_component_gets_the_state_itself() -> None:
    """State, newer: component-based tools."""
    OpenAIChatGenerator = calling(ToolCall("retrieve", {"query": "Python"}))  # noqa: N806 - the provider

    @component
    class DocumentRetriever:
        """Retrieve documents and store them in state."""

        @component.output_types(reply=str)
        def run(self, query: str, state: State) -> dict[str, str]:
            """Retrieve documents based on query and store them in state.
            :param query: The search query
            """  # noqa: D205, D415 - as it is printed
            documents = [Document(content=f"Result for '{query}'")]
            state.set("documents", documents)
            return {"reply": f"Retrieved {len(documents)} document(s)"}

    retriever_tool = ComponentTool(
        component=DocumentRetriever(),
        name="retrieve",
        description="Retrieve documents based on a search query",
    )
    agent = Agent(
        chat_generator=OpenAIChatGenerator(model="gpt-5.4-nano"),
        tools=[retriever_tool],
        system_prompt="Use the retrieve tool to find documents.",
        state_schema={"documents": {"type": list[Document]}},
    )
    result = agent.run(messages=[ChatMessage.from_user("Find documents about Python")])

    assert result["documents"] == [Document(content="Result for 'Python'")]
    assert retriever_tool.spec.parameters["properties"] == {
        "query": {"type": "string", "description": "The search query"}
    }
