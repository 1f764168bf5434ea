import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { createSite } from './site.ts'

t.test('each page has its script and a strict policy, and only this site gets a token', async (t) => {
  const site = await createSite({
    apiUrl: () => 'https://api.example/shop',
    createToken: async () => ({ token: 'secret' }),
  })
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
  t.teardown(() => site.close())
  const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  for (const page of ['plain', 'react', 'vue']) {
    const response = await fetch(`${url}/${page}`)
    const policy = response.headers.get('content-security-policy')
    t.match(policy, "default-src 'none'; script-src 'self'; connect-src 'self' https://api.example wss://api.example;")
    t.match(await response.text(), 'data-api-url="https://api.example/shop"')
    t.match(await (await fetch(`${url}/${page}.js`)).text(), 'plinth-inbox')
  }
  const tokenFor = async (site: string, method = 'POST') =>
    (await fetch(`${url}/inbox-token`, { method, headers: { 'sec-fetch-site': site } })).text()
  t.same(await Promise.all([tokenFor('same-origin'), tokenFor('cross-site'), tokenFor('same-origin', 'GET')]), [
    '{"token":"secret"}',
    '{}',
    '{}',
  ])
  t.equal((await fetch(`${url}/other`)).status, 404)
})
