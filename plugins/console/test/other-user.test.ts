import { http } from '@plinth/http'
import t from 'tap'
import { openSignedIn, password, startBackOffice } from './fixtures/back-office.ts'
import { skip } from './fixtures/browser.ts'

t.test(
  'a page whose login was replaced by another user starts again as that user',
  { skip, timeout: 300_000 },
  async (t) => {
    const office = await startBackOffice(t.testdir(), (work) => t.teardown(work))
    const server = office.running.service(http)
    const tokenOf = async (username: string): Promise<string> => {
      const sent = { method: 'POST', url: '/api/v1/auth/login', payload: { username, password } } as const
      return (await server.inject(sent)).json().data.accessToken
    }
    await server.inject({
      method: 'POST',
      url: '/api/v1/admin/iam/users',
      headers: { authorization: `Bearer ${await tokenOf('root')}` },
      payload: { username: 'eve', email: 'eve@example.com', password, roleIds: [] },
    })
    const { page } = await openSignedIn(t.teardown, office.url)
    await page.getByRole('navigation').getByRole('link', { name: 'Access' }).waitFor()
    const [session] = await page.context().cookies()
    t.equal(session?.name, 'plinth-session')
    await page.context().addCookies([{ ...(session as object), value: await tokenOf('eve') } as never])
    // A browser fires this event when the user returns to the page.
    const reloaded = page.waitForEvent('load')
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`)
    await reloaded
    await page.getByText('You are signed in as eve').waitFor()
    await page.getByRole('link', { name: 'eve' }).click()
    await page.getByRole('heading', { name: 'My account' }).waitFor()
    t.equal(await page.getByRole('link', { name: 'Users', exact: true }).count(), 0)
  },
)
