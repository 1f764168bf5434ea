import { type StartSummaryLine, startSummary } from '../contracts/kernel.ts'
import type { RunningProduct } from '../running-product.ts'

/** Returns the summary of a started product, in start order. A plugin whose part fails is left out and logged. */
export async function summaryOf(running: RunningProduct): Promise<readonly StartSummaryLine[]> {
  const parts = [...running.contributions(startSummary)].map(async ([name, read]) => {
    try {
      return await read()
    } catch (error) {
      running.log.warn({ err: error, part: name }, 'a part of the start summary is missing')
      return []
    }
  })
  return (await Promise.all(parts)).flat()
}

/** Returns the URL of the page to open first. */
export const pageOf = (lines: readonly StartSummaryLine[]): string | undefined =>
  (lines.find(({ page }) => page === 'next') ?? lines.findLast(({ page }) => page === 'usual'))?.place

/** The last line is the page to open. */
export function summaryText(lines: readonly StartSummaryLine[]): string {
  const width = Math.max(0, ...lines.map(({ label }) => label.length))
  const page = pageOf(lines)
  const rows = lines.map(({ label, place }) => `  ${label.padEnd(width)}  ${place}`)
  return [...rows, page === undefined ? 'The product runs.' : `Open ${page}`].join('\n')
}
