/** What keys of the server do that no other test is about. */
import { definePlugin, healthCheck } from '@plinth/kernel'
import { manualClock } from '@plinth/kernel/testing'
import { pino } from 'pino'
import t from 'tap'
import { Type } from 'typebox'
import { startHttp } from './start-http.ts'

t.test('effect of platform.http.host: the address at which it listens', async (t) => {
  const { server } = await startHttp(t, undefined, { set: { 'platform.http.host': '127.0.0.4' } })
  t.match(server.url, /^http:\/\/127\.0\.0\.4:\d+$/)
  t.equal((await fetch(`${server.url}/health/live`)).status, 200)
})

t.test('effect of platform.http.metrics.allowed-clients: who may read metrics', async (t) => {
  const { server } = await startHttp(t, undefined, { set: { 'platform.http.metrics.allowed-clients': '192.0.2.0/24' } })
  const from = async (remoteAddress: string) => (await server.inject({ url: '/metrics', remoteAddress })).statusCode
  t.same([await from('192.0.2.9'), await from('198.51.100.9'), await from('127.0.0.1')], [200, 404, 404])
})

t.test('effect of platform.http.readiness-deadline: how long a health check may take', async (t) => {
  const clock = manualClock()
  const asked = Promise.withResolvers<AbortSignal>()
  const stuck = definePlugin({
    id: 'stuck',
    version: '1.0.0',
    kernel: '^1.0.0',
    contributes: [healthCheck],
    setup: ({ contribute }) =>
      contribute(healthCheck, 'stuck', (signal) => {
        asked.resolve(signal)
        return new Promise(() => {})
      }),
  })
  const set = { 'platform.http.readiness-deadline': '7s' }
  const { server } = await startHttp(t, undefined, { clock, set, plugins: [stuck] })
  const answer = server.inject('/health/ready')
  const signal = await asked.promise
  await clock.advance(6999)
  t.notOk(signal.aborted)
  await clock.advance(1)
  t.equal((await answer).statusCode, 503)
})

t.test('whose address counts', async (t) => {
  // effects of platform.rate-limit.annotation.client-ip.{headers,ipv6-prefix,trust-forwarded-headers,trusted-proxies}
  const root = 'platform.rate-limit.annotation.client-ip'
  const seen = async (set: Record<string, string>) => {
    const { server } = await startHttp(
      t,
      (http) =>
        http.route({
          method: 'GET',
          path: '/api/v1/shop/me',
          summary: 'Who calls',
          access: 'public',
          response: Type.Object({ ip: Type.String(), network: Type.String() }),
          handler: ({ clientIp }) => ({ ip: clientIp, network: http.networkOf('2001:db8:1:2:3::4') }),
        }),
      { set: Object.fromEntries(Object.entries(set).map(([name, value]) => [`${root}.${name}`, value])) },
    )
    const headers = { 'x-forwarded-for': '198.51.100.1', 'x-real-ip': '198.51.100.2' }
    const answer = await server.inject({ url: '/api/v1/shop/me', remoteAddress: '192.0.2.1', headers })
    return answer.json().data
  }
  const proxy = { 'trusted-proxies': '["192.0.2.0/24"]' }
  t.equal((await seen({})).ip, '192.0.2.1')
  t.equal((await seen(proxy)).ip, '198.51.100.1')
  t.equal((await seen({ ...proxy, headers: '["X-Real-IP"]' })).ip, '198.51.100.2')
  t.equal((await seen({ ...proxy, 'trust-forwarded-headers': 'false' })).ip, '192.0.2.1')
  t.not((await seen({ 'ipv6-prefix': '48' })).network, (await seen({})).network)
})

t.test('a drain delay that outlasts every stop is refused', async (t) => {
  const start = startHttp(t, undefined, { set: { 'platform.http.drain-delay': '30d' } })
  await t.rejects(start, /platform\.http\.drain-delay/)
})

t.test('where it listens is logged once', async (t) => {
  const lines: string[] = []
  const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(line) })
  const { server } = await startHttp(t, undefined, { logger, set: { 'platform.http.host': '0.0.0.0' } })
  const news = lines.map((line) => JSON.parse(line)).filter(({ msg }) => /listening/i.test(msg))
  t.match(news, [{ msg: 'listening', url: server.url }])
})
