// Load generator in a process of its own: one job a message. JavaScript because autocannon has no types.
import autocannon from 'autocannon'

process.on('message', async ({ url, method, body, connections, seconds }) => {
  const headers = body === undefined ? {} : { 'content-type': 'application/json' }
  const result = await autocannon({ url, method, body, headers, connections, duration: seconds })
  process.send({
    requests: result['2xx'],
    failed: result.non2xx + result.errors + result.timeouts,
    seconds: result.duration,
    p99Milliseconds: result.latency.p99,
  })
})
