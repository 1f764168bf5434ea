/** Minimum width of a column that is folded, in characters. */
const minColumn = 8
const gap = '  '

/** Characters that a cell is folded after, so that paths and keys stay readable. */
const breakable = /[\s./,:-]/

/**
 * Formats rows as aligned columns; the first row is the heading. Cells of columns that do not fit are folded, so that
 * nothing is lost. The last column is not padded.
 *
 * @param width of the terminal in characters; without a limit when absent
 * @param style changes the appearance of one line of a cell without its visible width
 */
export function table(
  rows: readonly (readonly string[])[],
  width = Number.POSITIVE_INFINITY,
  style: (text: string, row: number, column: number) => string = (text) => text,
): string {
  const natural = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const widths = fittingWidths(natural, width - gap.length * (natural.length - 1))
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

/** Narrow columns keep their width; wide ones share the rest. */
function fittingWidths(natural: readonly number[], available: number): readonly number[] {
  let [rest, open] = [available, natural.length]
  const widths = [...natural]
  for (const [column, width] of [...natural.entries()].sort(([, one], [, other]) => one - other)) {
    widths[column] = Math.min(width, Math.max(minColumn, Math.floor(rest / open)))
    rest -= widths[column]
    open--
  }
  return widths
}

function folded(cell: string, width: number): readonly string[] {
  const lines: string[] = []
  let rest = cell
  while (rest.length > width) {
    const at = [...rest.slice(0, width)].findLastIndex((character) => breakable.test(character))
    // A line of less than a third of the column would waste it.
    const end = at + 1 > width / 3 ? at + 1 : width
    lines.push(rest.slice(0, end).trimEnd())
    rest = rest.slice(end).trimStart()
  }
  return [...lines, rest]
}
