// Generates load in a separate process. Each message is one job. This file is JavaScript, because autocannon has no
// types.
import autocannon from 'autocannon'

process.on('message', async ({ url, method = 'GET', headers = {}, body, connections, seconds }) => {
  const result = await autocannon({ url, method, headers, body, connections, duration: seconds })
  process.send({
    requests: result['2xx'],
    failed: result.non2xx + result.errors + result.timeouts,
    seconds: result.duration,
    p99Milliseconds: result.latency.p99,
  })
})
