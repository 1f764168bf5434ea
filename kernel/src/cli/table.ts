/** Minimum width of a column with line breaks, in characters. */
const minColumnWidth = 8
const gap = '  '

/** Characters after which a line may break, so that paths and keys stay readable. */
const breakable = /[\s./,:-]/

/**
 * Formats rows as aligned columns. The first row is the heading. If a row does not fit, the text in its cells continues
 * on further lines.
 *
 * @param width of the terminal in characters; default: no limit
 * @param style changes the appearance of a line of a cell, for example its colour, but not its visible width
 */
export function formatTable(
  rows: readonly (readonly string[])[],
  width = Number.POSITIVE_INFINITY,
  style: (text: string, row: number, column: number) => string = (text) => text,
): string {
  const widths = fittingWidths(rows, width - gap.length * ((rows[0] ?? []).length - 1))
  const lines = rows.flatMap((row, index) => {
    const cells = row.map((cell, column) => folded(cell, widths[column] ?? 0))
    return Array.from({ length: Math.max(...cells.map(({ length }) => length)) }, (_, line) => {
      const parts = cells.map((cell, column) => ({ text: cell[line] ?? '', column }))
      const last = parts.findLastIndex(({ text }) => text !== '')
      return parts
        .slice(0, last + 1)
        .map(({ text, column }) => {
          const spaces = column === last ? 0 : (widths[column] ?? 0) - text.length
          return style(text, index, column) + ' '.repeat(spaces)
        })
        .join(gap)
    })
  })
  return lines.join('\n')
}

/** Returns the width of each column. Remaining characters go to the column that needs the most lines. */
function fittingWidths(rows: readonly (readonly string[])[], available: number): readonly number[] {
  const columns = (rows[0] ?? []).map((_, column) => rows.map((row) => row[column] ?? ''))
  const natural = columns.map((cells) => Math.max(...cells.map(({ length }) => length)))
  if (sumOf(natural) <= available) return natural
  const widths = natural.map((width) => Math.min(width, minColumnWidth))
  const extraLines = (column: number) =>
    sumOf((columns[column] ?? []).map((cell) => folded(cell, widths[column] ?? 0).length - 1))
  const extra = widths.map((_, column) => extraLines(column))
  for (let free = available - sumOf(widths); free > 0; free--) {
    const column = extra.indexOf(Math.max(...extra))
    widths[column] = (widths[column] ?? 0) + 1
    extra[column] = extraLines(column)
  }
  return widths
}

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0)

function folded(cell: string, width: number): readonly string[] {
  const lines: string[] = []
  let rest = cell
  while (rest.length > width) {
    const at = [...rest.slice(0, width)].findLastIndex((character) => breakable.test(character))
    // A break in the first third of the line would waste space, so the text is cut instead.
    const end = at + 1 > width / 3 ? at + 1 : width
    lines.push(rest.slice(0, end).trimEnd())
    rest = rest.slice(end).trimStart()
  }
  return [...lines, rest]
}
