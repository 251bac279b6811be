"""Generates the annotated Java that publishes procedure files as `CALL fluxmem.*`."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from fluxmem_graph.errors import StatementError
from fluxmem_graph.statements import Column, Parameter, Statement

PACKAGE: Final = "fluxmem.generated"

_JAVA_TYPES: Final = {
    "STRING": "String",
    "INTEGER": "Long",
    "FLOAT": "Double",
    "BOOLEAN": "Boolean",
    "MAP": "Map<String, Object>",
    "ANY": "Object",
    "ZONED DATETIME": "ZonedDateTime",
}
# Columns become public fields, which Neo4j reads their names from.
_RESERVED: Final = re.compile(
    "abstract|assert|boolean|break|byte|case|catch|char|class|const|continue|default|do|double|else|enum|extends"
    "|false|final|finally|float|for|goto|if|implements|import|instanceof|int|interface|long|native|new|null"
    "|package|private|protected|public|return|short|static|strictfp|super|switch|synchronized|this|throw|throws"
    "|transient|true|try|void|volatile|while"
)
_VALUES_SOURCE: Final = f"""\
package {PACKAGE};

import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.List;

final class Values {{
    private Values() {{}}

    static String orNull(String argument) {{
        return "null".equals(argument) ? null : argument;
    }}

    static <T> T cell(String column, Object value, Class<T> type) {{
        Object found = value != null && value.getClass().isArray() ? list(value) : value;
        if (found != null && !type.isInstance(found)) {{
            throw new IllegalStateException("column " + column + " promises " + type.getSimpleName()
                + ", but the statement returned " + found.getClass().getSimpleName());
        }}
        return type.cast(found);
    }}

    private static List<Object> list(Object array) {{
        List<Object> items = new ArrayList<>();
        for (int i = 0; i < Array.getLength(array); i++) {{
            items.add(Array.get(array, i));
        }}
        return items;
    }}
}}
"""

_IMPORTS = """\
import java.time.ZonedDateTime;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.neo4j.graphdb.Result;
import org.neo4j.graphdb.Transaction;
import org.neo4j.procedure.Context;
import org.neo4j.procedure.Description;
import org.neo4j.procedure.Mode;
import org.neo4j.procedure.Name;
import org.neo4j.procedure.Procedure;
"""


def generate_sources(procedures: Iterable[Statement]) -> dict[str, str]:
    """Return Java sources by file name: one per procedure, and `Values.java`, which they share.

    Raises StatementError for a column that Java can't name.
    """
    return {"Values.java": _VALUES_SOURCE} | {f"{_class_name(p)}.java": _class_source(p) for p in procedures}


def java_string(text: str) -> str:
    """Return an ASCII Java literal for any text."""
    units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    return '"' + "".join(map(_java_character, units)) + '"'


def _java_character(unit: int) -> str:
    if chr(unit) in '"\\':
        return "\\" + chr(unit)
    if unit < 32:
        # Octal, because Java takes an escaped line feed \u000a for a line break inside the literal.
        return f"\\{unit:03o}"
    return chr(unit) if unit < 127 else f"\\u{unit:04x}"


def _class_name(procedure: Statement) -> str:
    return "Procedure_" + procedure.name.removeprefix("fluxmem.").replace(".", "_")


def _java_type(kind: str) -> str:
    item = re.fullmatch(r"LIST<(.+)>", kind)
    return f"List<{_java_type(item[1])}>" if item else _JAVA_TYPES[kind]


def _class_source(procedure: Statement) -> str:
    # Each line is its own literal: one constant may not exceed 65,535 bytes.
    body = ",\n".join(f"        {java_string(line)}" for line in procedure.body.split("\n"))
    return f"""\
package {PACKAGE};

{_IMPORTS}
@SuppressWarnings({{"unchecked", "unused"}})
public class {_class_name(procedure)} {{
    private static final String BODY = String.join("\\n",
{body});

    @Context
    public Transaction tx;

    @Procedure(name = {java_string(procedure.name)}, mode = Mode.{procedure.mode})
    @Description({java_string(procedure.description)})
    public Stream<Row> run(
{_arguments(procedure.parameters)}
    ) {{
        Map<String, Object> arguments = new HashMap<>();
{_puts(procedure.parameters)}
        Result result = tx.execute(BODY, arguments);
        return {_rows(procedure)};
    }}

{_row_class(procedure)}
}}
"""


def _arguments(parameters: Sequence[Parameter]) -> str:
    lines = []
    for i, parameter in enumerate(parameters):
        values = [f"value = {java_string(parameter.name)}"]
        if parameter.printed_default is not None:
            values.append(f"defaultValue = {java_string(parameter.printed_default)}")
        lines.append(f"        @Name({', '.join(values)}) {_java_type(parameter.type)} argument{i}")
    return ",\n".join(lines)


def _puts(parameters: Sequence[Parameter]) -> str:
    lines = []
    for i, parameter in enumerate(parameters):
        # Neo4j reads the default null of a string as the text "null", and prints it without quotes.
        null_text = parameter.type == "STRING" and parameter.printed_default == "null"
        value = f"Values.orNull(argument{i})" if null_text else f"argument{i}"
        lines.append(f"        arguments.put({java_string(parameter.name)}, {value});")
    return "\n".join(lines)


def _rows(procedure: Statement) -> str:
    if procedure.mode == "READ":
        return "result.stream().map(Row::new).onClose(result::close)"
    # Every write happens inside the call, even when the caller pulls only the first row.
    return "result.stream().map(Row::new).toList().stream()"


def _row_class(procedure: Statement) -> str:
    for column in procedure.columns:
        if _RESERVED.fullmatch(column.name):
            raise StatementError(
                f"{procedure.path}:1: expected a column name that is no word of Java, found {column.name}"
            )
    fields = "\n".join(f"        public final {_java_type(c.type)} {c.name};" for c in procedure.columns)
    reads = "\n".join(f"            {_read_cell(column)}" for column in procedure.columns)
    return f"""\
    public static class Row {{
{fields}

        Row(Map<String, Object> row) {{
{reads}
        }}
    }}"""


def _read_cell(column: Column) -> str:
    kind, name = _java_type(column.type), java_string(column.name)
    raw, _, _ = kind.partition("<")
    return f"this.{column.name} = ({kind}) Values.cell({name}, row.get({name}), {raw}.class);"
