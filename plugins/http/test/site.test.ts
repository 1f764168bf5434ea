/** What the product calls itself, and which day it is where it is at home. */
import { rejectsWith } from '@plinth/kernel/testing'
import fc from 'fast-check'
import t from 'tap'
import { site } from '../src/index.ts'
import { startHttp } from './start-http.ts'

const live = (key: string, written: string) => ({ name: key, by: 'key', written, place: 'row 1' }) as const

t.test('E11 the API description carries the name and the address of the site, at once', async (t) => {
  const { running, server, call } = await startHttp(t)
  const shown = async () => {
    const pages = [(await call('/docs/openapi.json')).body, (await call('/docs/json')).body, await server.openapi()]
    t.same(new Set(pages.map(({ info, servers }) => JSON.stringify([info, servers]))).size, 1, 'everywhere the same')
    const { title, version } = pages[0].info
    return [{ title, version }, pages[0].servers]
  }
  t.same(await shown(), [{ title: 'Test shop', version: '2.3.4' }, [{ url: '/' }]])
  await running.config.apply([
    live('platform.site.name', 'Acme'),
    live('platform.site.url', 'https://acme.example/shop/'),
  ])
  t.same(await shown(), [{ title: 'Acme', version: '2.3.4' }, [{ url: 'https://acme.example/shop' }]])
  await running.config.apply([live('platform.site.name', 'Acme'), live('platform.site.title', 'Acme shop')])
  t.same(await shown(), [{ title: 'Acme shop', version: '2.3.4' }, [{ url: '/' }]])
})

t.test('E11 the site as plugins see it', async (t) => {
  const { running } = await startHttp(t)
  const own = running.service(site)
  const facts = () => ({ isNamed: own.isNamed, name: own.name, title: own.title, url: own.url, timeZone: own.timeZone })
  t.same(facts(), { isNamed: false, name: 'Test shop', title: 'Test shop', url: '', timeZone: 'UTC' })
  await running.config.apply([
    ...[live('platform.site.name', 'Acme'), live('platform.site.title', 'Acme shop')],
    ...[live('platform.site.url', 'https://acme.example'), live('platform.site.time-zone', 'Asia/Shanghai')],
  ])
  const named = { isNamed: true, name: 'Acme', title: 'Acme shop', url: 'https://acme.example' }
  t.same(facts(), { ...named, timeZone: 'Asia/Shanghai' })
})

t.test('E11 B6 days follow the time zone of the site, whatever the one of the process', async (t) => {
  const { running } = await startHttp(t)
  const own = running.service(site)
  const days = [
    ['UTC', '2026-01-30T23:59:59.999Z', '2026-01-30'],
    ['Asia/Shanghai', '2026-01-30T15:59:59.999Z', '2026-01-30'],
    ['Asia/Shanghai', '2026-01-30T16:00:00Z', '2026-01-31'],
    ['America/New_York', '2026-03-08T04:59:59Z', '2026-03-07'],
    ['America/New_York', '2026-03-09T03:59:59Z', '2026-03-08'],
    ['Pacific/Kiritimati', '2025-12-31T10:00:00Z', '2026-01-01'],
    ['Pacific/Apia', '2011-12-30T10:00:00Z', '2011-12-31'],
  ] as const
  for (const [zone, moment, day] of days) {
    await running.config.apply([live('platform.site.time-zone', zone)])
    t.equal(own.dayOf(new Date(moment)), day, `${zone} ${moment}`)
  }
  const zones = Intl.supportedValuesOf('timeZone')
  const moment = fc.date({ min: new Date('1970-01-02'), max: new Date('2200-01-01'), noInvalidDate: true })
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...zones), fc.array(moment, { minLength: 1 }), async (zone, moments) => {
      await running.config.apply([live('platform.site.time-zone', zone)])
      // Swedes write dates as ISO 8601 does.
      return moments.every((date) => own.dayOf(date) === date.toLocaleDateString('sv-SE', { timeZone: zone }))
    }),
    { numRuns: 50 },
  )
})

t.test('E11 what is no time zone and no address is refused', async (t) => {
  const start = (key: string, value: string) => startHttp(t, () => {}, { set: { [key]: value } })
  for (const zone of ['Nowhere/At_all', '+08:00', 'GMT+25', '']) {
    await rejectsWith(
      t,
      start('platform.site.time-zone', zone),
      { code: 'PLINTH_START_REFUSED', message: /time-zone/ },
      zone,
    )
  }
  for (const url of [
    'acme.example',
    'ftp://acme.example',
    'https://acme.example/?a=1',
    'https://',
    'javascript:alert(1)',
  ]) {
    await rejectsWith(t, start('platform.site.url', url), { code: 'PLINTH_START_REFUSED', message: /site\.url/ }, url)
  }
})
