/** Tests the name and address of the site in the API description. */
import sitePlugin from '@plinth/site'
import t from 'tap'
import { startHttp } from './start-http.ts'

const live = (key: string, written: string) => ({ name: key, by: 'key', written, place: 'row 1' }) as const

t.test('E11 the API description always has the current name and address of the site', async (t) => {
  const { running, server, call } = await startHttp(t, undefined, { plugins: [sitePlugin] })
  const shown = async () => {
    const pages = [(await call('/docs/openapi.json')).body, await server.openapi()]
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

t.test('the API description of a site without an address carries the context path', async (t) => {
  const { call, server } = await startHttp(t, undefined, { set: { 'platform.http.context-path': '/ctx' } })
  t.same((await server.openapi()).servers, [{ url: '/ctx' }])
  t.same(JSON.parse((await call('/ctx/docs/openapi.json')).text).servers, [{ url: '/ctx' }])
  t.match((await call('/ctx/docs')).text, '<title>', 'the redirect stays below the path')
})
