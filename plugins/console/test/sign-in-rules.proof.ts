import { http } from '@plinth/http'
import t from 'tap'
import { openSignedIn, password, startBackOffice } from './fixtures/back-office.ts'
import { findAccessibilityProblems, saveScreenshot, skip } from './fixtures/browser.ts'

const office = skip === false ? await startBackOffice(t.testdir(), (work) => t.teardown(work)) : undefined
const roles = '/api/v1/admin/iam/roles'

t.test(
  'an operator changes one sign-in rule of a role, and the others keep their values',
  { skip, timeout: 300_000 },
  async (t) => {
    if (office === undefined) return
    const server = office.running.service(http)
    const send = async (method: 'GET' | 'POST' | 'PUT', url: string, payload?: object, token?: string) => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
      return (await server.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) })).json()
    }
    const token = (await send('POST', '/api/v1/auth/login', { username: 'root', password })).data.accessToken
    const role = { code: 'till', name: 'Till', dataScope: 'org', permissions: [] }
    const { id } = (await send('POST', roles, role, token)).data
    const rules = { secondFactorFrom: null, sessionLifetime: 7_200, sessionIdleTimeout: 600, version: 1 }
    await send('PUT', `${roles}/${id}/sign-in-policy`, rules, token)

    const { page, complaints } = await openSignedIn(t.teardown, `${office.url}iam.role/${id}`)
    await page.getByRole('button', { name: 'Change the sign-in rules' }).click()
    const dialog = page.getByRole('dialog')
    const lifetime = dialog.getByLabel(/Maximum session lifetime/)
    t.equal(await lifetime.inputValue(), '7200', 'the form shows the current rules')
    t.strictSame(await findAccessibilityProblems(page), [])
    await saveScreenshot(page, 'sign-in-rules')
    await lifetime.fill('3600')
    await dialog.getByLabel(/Idle timeout/).fill('')
    await dialog.getByRole('button', { name: 'Change the sign-in rules' }).click()
    await dialog.waitFor({ state: 'hidden' })
    const { data } = await send('GET', `${roles}/${id}`, undefined, token)
    t.match(data, { secondFactorFrom: null, sessionLifetime: 3_600, sessionIdleTimeout: null, version: 3 })

    await page.goto(`${office.url}iam.own-sessions`)
    await page.getByRole('button', { name: 'Actions' }).first().click()
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    await page.getByRole('dialog').getByLabel(/Name/).fill('Desk <b>1</b>')
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click()
    await page.getByText('Desk <b>1</b>').first().waitFor()
    t.strictSame(complaints, [])
  },
)
