/**
 * A reporter for tap: one line per test file at the moment when its process has ended, with or without a terminal, so that a
 * long run can be told from one that stands still. tap takes it for a React component, which draws nothing.
 */
export default function FinishedFiles({ test: suite }) {
  let finished = 0
  suite.on('subtestStart', (file) => {
    const begunAt = performance.now()
    file.on('complete', (result) => {
      const seconds = ((performance.now() - begunAt) / 1000).toFixed(1).padStart(6)
      const { skip = 0 } = file.counts
      console.log(
        `${String(++finished).padStart(4)} ${result?.ok ? 'ok    ' : 'FAILED'} ${seconds} s  ${file.name}${skip > 0 ? `  (${skip} skipped)` : ''}`,
      )
    })
  })
  return null
}
