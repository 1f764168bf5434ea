/** A figure of a page, with the place of its source in a comment: `239<!-- bench: Start > quickstart ; # -->`. */
const markedFigure = /[\d.,]+<!-- bench: ((.+?) > (.+?)(?: \/ (\d+))?) -->/g

/**
 * Returns a page with the current figures of `bench/README.md`. The comment after a figure contains the heading of the
 * source, and a part of a line in which `#` is the number and `*` is any text of a cell. A `;` is a border of a table
 * cell. `/ 1000` divides the number.
 *
 * @param results text of `bench/README.md`
 * @throws Error if no line or more than one line matches
 */
export const withMeasuredFigures = (page: string, results: string): string =>
  page.replaceAll(markedFigure, (_, place: string, heading: string, pattern: string, divisor?: string) => {
    const number = figureAt(linesBelow(results, heading), pattern, place)
    const shown = divisor === undefined ? withSeparators(number) : (Number(number) / Number(divisor)).toFixed(1)
    return `${shown}<!-- bench: ${place} -->`
  })

function linesBelow(results: string, heading: string): readonly string[] {
  const headingOf = (section: string) => section.split('\n', 1)[0]?.replace(/ \(`.*$/, '')
  const section = results.split(/^#+ /m).find((one) => headingOf(one) === heading) ?? ''
  return section.split('\n').map((line) => line.replaceAll('|', ' ; ').replaceAll(/\s+/g, ' '))
}

function figureAt(lines: readonly string[], pattern: string, place: string): string {
  const marks: Readonly<Record<string, string>> = { '#': '([\\d.,]*\\d)', '*': '[^;]+' }
  const parts = pattern.split(/([#*])/).map((part) => marks[part] ?? part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const form = new RegExp(parts.join(''))
  const found = lines.map((line) => form.exec(line)?.[1]).filter((number) => number !== undefined)
  if (found.length !== 1) throw new Error(`bench/README.md contains ${found.length} figures for "${place}".`)
  return (found[0] ?? '').replaceAll(',', '')
}

const withSeparators = (number: string) => number.replace(/\d(?=(?:\d{3})+(?!\d))/, '$&,')
