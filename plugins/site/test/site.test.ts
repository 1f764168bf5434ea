/** Tests the name, address and time zone of the site. */

import { assertKeyEffect, type KeyValues, rejectsWith, startForTest } from '@plinth/dev/testing'
import { defineProduct } from '@plinth/kernel'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import sitePlugin, { site } from '../src/index.ts'

async function startSite(t: Test, set: Readonly<Record<string, string>> = {}) {
  const product = defineProduct({ name: 'Test shop', version: '2.3.4', plugins: [sitePlugin] })
  const running = await startForTest(product, { set })
  t.teardown(() => running.stop('test ended'))
  return { running, own: running.service(site) }
}

const live = (key: string, written: string) => ({ name: key, by: 'key', written, place: 'row 1' }) as const

t.test('E11 the site as plugins see it', async (t) => {
  const { running, own } = await startSite(t)
  const facts = () => ({ isNamed: own.isNamed, name: own.name, title: own.title, url: own.url, timeZone: own.timeZone })
  t.same(facts(), { isNamed: false, name: 'Test shop', title: 'Test shop', url: '', timeZone: 'UTC' })
  await running.config.apply([
    live('platform.site.name', 'Acme'),
    live('platform.site.title', 'Acme shop'),
    live('platform.site.url', 'https://acme.example'),
    live('platform.site.time-zone', 'Asia/Shanghai'),
  ])
  const named = { isNamed: true, name: 'Acme', title: 'Acme shop', url: 'https://acme.example' }
  t.same(facts(), { ...named, timeZone: 'Asia/Shanghai' })
})

t.test('E11 B6 days follow the time zone of the site, whatever the zone of the process', async (t) => {
  const { running, own } = await startSite(t)
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
      // The Swedish date format is the same as that of ISO 8601.
      return moments.every((date) => own.dayOf(date) === date.toLocaleDateString('sv-SE', { timeZone: zone }))
    }),
    { numRuns: 50 },
  )
})

t.test('E11 an invalid time zone or address is rejected', async (t) => {
  const start = (key: string, value: string) => startSite(t, { [key]: value })
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

t.test('the site has the configured name, title, address and time zone', async (t) => {
  const siteWith = async (values: KeyValues) => (await startSite(t, values as Record<string, string>)).own
  const [names] = await assertKeyEffect(t, 'platform.site.name', {
    changed: 'Acme',
    observe: async (values) => (await siteWith(values)).name,
  })
  t.same([names?.before, names?.after], ['Test shop', 'Acme'])
  const [titles] = await assertKeyEffect(t, 'platform.site.title', {
    changed: 'Acme',
    observe: async (values) => (await siteWith(values)).title,
  })
  t.same([titles?.before, titles?.after], ['Test shop', 'Acme'])
  const [urls] = await assertKeyEffect(t, 'platform.site.url', {
    changed: 'https://acme.example/shop',
    observe: async (values) => (await siteWith(values)).url,
  })
  t.same([urls?.before, urls?.after], ['', 'https://acme.example/shop'])
  const [days] = await assertKeyEffect(t, 'platform.site.time-zone', {
    changed: 'Asia/Shanghai',
    observe: async (values) => (await siteWith(values)).dayOf(new Date('2026-01-30T16:00Z')),
  })
  t.same([days?.before, days?.after], ['2026-01-30', '2026-01-31'])
})
