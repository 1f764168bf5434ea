// Generates load in a separate process. Each message is one job. This file is JavaScript, because autocannon has no
// types.
import autocannon from 'autocannon'

process.on('message', async ({ url, method, body, connections, seconds }) => {
  const headers = body === undefined ? {} : { 'content-type': 'application/json' }
  const result = await autocannon({ url, method, body, headers, connections, duration: seconds })
  process.send({
    requests: result['2xx'],
    failed: failuresOf(result),
    seconds: result.duration,
    p99Milliseconds: result.latency.p99,
  })
})

/** Returns the number of failed requests by status or error. */
function failuresOf({ statusCodeStats, errors, timeouts }) {
  const failures = { 'no answer': errors - timeouts, 'no answer in time': timeouts }
  for (const [status, { count }] of Object.entries(statusCodeStats)) {
    if (!status.startsWith('2')) failures[status] = count
  }
  return Object.fromEntries(Object.entries(failures).filter(([, count]) => count > 0))
}
