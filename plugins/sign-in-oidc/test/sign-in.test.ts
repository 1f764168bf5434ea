/** Tests the sign-in with a provider as a page does it. */
import { onDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { describeOutcome, newBrowser, startWithProvider } from './fixtures/product.ts'

onDatabase(t, 'a user signs in with a provider, and the first sign-in creates the account', async (t, db) => {
  const product = await startWithProvider(t, db)
  product.provider.users.set('anna', { preferred_username: 'Anna', email: 'anna@example.com' })
  const browser = newBrowser()
  const first = await product.signIn('kc', 'anna', browser)
  t.equal(describeOutcome(first), '200')
  t.match(first.data, { accessToken: /^plinth_/, returnTo: null })
  t.equal(browser.jar.cookies.size, 0, 'the cookie of the transaction is gone')
  const { accessToken: token } = first.data
  const me = await product.call('GET', '/api/v1/iam/users/me', { token })
  t.strictSame([me.data.username, me.data.email, me.data.roles], ['Anna', null, []])
  const again = await product.signIn('kc', 'anna')
  const other = await product.call('GET', '/api/v1/iam/users/me', { token: again.data.accessToken })
  t.equal(other.data.id, me.data.id, 'the second sign-in finds the account')
  t.strictSame(await product.rejections(), [])
})

onDatabase(t, 'a page of this site gets the session as a cookie', async (t, db) => {
  const { respond, callback, call } = await startWithProvider(t, db)
  const browser = newBrowser()
  const { search } = await respond('kc', 'anna', browser)
  const foreign = { body: { session: 'cookie' }, jar: browser.jar, headers: { 'sec-fetch-site': 'cross-site' } }
  t.equal(describeOutcome(await callback('kc', search, foreign)), '403 iam.origin-unproven')
  const signedIn = await callback('kc', search, { body: { session: 'cookie' }, jar: browser.jar })
  t.equal(describeOutcome(signedIn), '200', 'the transaction is not used up')
  t.equal(signedIn.data.accessToken, null)
  const cookies = () => [...browser.jar.cookies.keys()].filter((name) => name !== 'plinth-device')
  t.strictSame(cookies(), ['plinth-session'])
  const me = await call('GET', '/api/v1/iam/users/me', { jar: browser.jar })
  t.equal(me.code, '200')
  const ended = await call('POST', '/api/v1/auth/oidc/logout', { jar: browser.jar, body: {} })
  t.match(ended.data.url, /^http:.*\/session\/end\?/)
  t.strictSame(cookies(), [])
})
