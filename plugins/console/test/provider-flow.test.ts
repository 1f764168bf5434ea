/** Tests how a page leaves for a provider and returns, without a browser. */
import t from 'tap'
import { loadBrowserModule } from './fixtures/browser-module.ts'

const origin = 'https://acme.test'
const stored = new Map<string, string>()
const opened: string[] = []
const location = {
  origin,
  pathname: '/shop/admin/sign-in/oidc/acme',
  search: '?code=secret&state=s',
  hash: '',
  assign: (url: string) => void opened.push(String(url)),
  replace: (url: string) => void opened.push(String(url)),
}
Object.assign(globalThis, {
  location,
  document: { baseURI: `${origin}/shop/admin/` },
  history: {
    replaceState: (_state: null, _title: string, url: string) =>
      Object.assign(location, { search: '', hash: '', pathname: url }),
  },
  sessionStorage: {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => void stored.set(name, value),
    removeItem: (name: string) => void stored.delete(name),
  },
})

const { leaveTo, openPage, providerHere, takeArrival } = await loadBrowserModule('providers/provider-flow.ts')

t.test('a tab remembers why it left for a provider until it returns, and only for this provider', async (t) => {
  t.equal(providerHere, 'acme')
  const link = { provider: 'acme', purpose: 'link', returnTo: '/shop/admin/authenticators.security' }
  const arrive = (search: string, hash = '') => {
    Object.assign(location, { search, hash })
    return takeArrival()
  }
  const signIn = { provider: 'acme', purpose: 'sign-in', returnTo: '', isProofWindow: false }
  leaveTo('https://id.test/authorize', link)
  t.strictSame(arrive('?code=secret&state=s'), { ...link, parameters: 'code=secret&state=s', isProofWindow: false })
  t.strictSame([location.search, stored.size], ['', 0], 'neither the address nor the tab contains the response')
  t.strictSame(arrive('?code=again'), { ...signIn, parameters: 'code=again' }, 'a second response only signs in')
  leaveTo('https://id.test/authorize', { ...link, provider: 'other' })
  t.strictSame(arrive('?code=mixed'), { ...signIn, parameters: 'code=mixed' }, 'a response of another provider')
  t.strictSame(arrive('', '#proof'), { ...signIn, parameters: '', isProofWindow: true })
})

t.test('after a sign-in, only pages of the back office are opened', async (t) => {
  const start = `${origin}/shop/admin/`
  const expected = {
    '/shop/admin/iam.users?sort=id#x': `${start}iam.users?sort=id#x`,
    '': start,
    '/': start,
    '/shop/adminx/': start,
    '/shop/admin/../api/v1/auth/logout': start,
    '//evil.test/shop/admin/': start,
    '/\\evil.test/shop/admin/': start,
    'https://evil.test/shop/admin/': start,
    'javascript:alert(1)': start,
    '\t//evil.test/shop/admin/': start,
  }
  opened.length = 0
  for (const address of Object.keys(expected)) openPage(address)
  t.strictSame(
    opened.map((address) => new URL(address, origin).href),
    Object.values(expected),
  )
})
