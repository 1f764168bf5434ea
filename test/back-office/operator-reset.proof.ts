/** Counts the clicks and keys that an operator needs for tasks on the installation itself, with and without a mouse. */

import { writeFileSync } from 'node:fs'
import consolePlugin from '@plinth/console'
import consoleAdmin from '@plinth/console/admin'
import { assertMembers, until } from '@plinth/dev/testing'
import { createDatabase, startMigrated } from '@plinth/dev/testing/database'
import { http } from '@plinth/http'
import { defineProduct, omitUndefined, systemClock } from '@plinth/kernel'
import t from 'tap'
import { skip } from '../../plugins/console/test/fixtures/browser.ts'
import { exampleFile, formFor, plugins, secrets } from '../../plugins/install/test/fixtures/product.ts'
import { KeyboardActions } from './keyboard-hand.ts'
import { OperatorActions, openBackOffice, perform } from './operator-hand.ts'

t.test(
  'I-074 I-081 D63 an installation is reset and repeated, with few clicks and keys',
  { skip, timeout: 600_000 },
  async (t) => {
    const db = await createDatabase('sqlite')
    t.teardown(() => db.drop())
    writeFileSync(`${db.directory}/.env.example`, exampleFile)
    const product = defineProduct({
      name: 'shop',
      plugins: [...plugins, consolePlugin, consoleAdmin],
      config: {
        ...db.config,
        'platform.http.port': 0,
        // On a busy host the load shedder would otherwise reject requests.
        'platform.http.overload.max-wait': '1m',
        'platform.iam.password.hash.memory': '1MiB',
        'platform.iam.password.hash.passes': 1,
        'platform.install.allow-reinstall': true,
      },
    })
    const running = await startMigrated({ ...product, root: db.directory } as typeof product, { clock: systemClock })
    t.teardown(() => running.stop('test ended'))
    const server = running.service(http)
    const call = async (method: 'GET' | 'POST', path: string, payload?: object, headers = {}) =>
      (await server.inject(omitUndefined({ method, url: `/api/v1/${path}`, headers, payload }))).json().data
    const form = formFor(db)
    const install = () =>
      call('POST', 'install/execute', { ...form, administrator: { ...form.administrator, username: 'root' } })
    const landing = async () => (await server.inject('/')).headers['location']
    t.match(await install(), { passed: true, locked: true })
    t.not(await landing(), '/install/')

    // Waits until the pages are built. Until then, the server sends a page that reloads automatically.
    const areBuilt = async () => !(await server.inject('/admin/')).body.includes('http-equiv="refresh"')
    await until(areBuilt, 'the pages are built')
    for (const Hand of [OperatorActions, KeyboardActions]) {
      const office = await openBackOffice(t, `${server.url}/admin/`, secrets.administrator)
      const main = office.page.locator('main')
      await perform(
        t,
        office,
        {
          name: 'reset an installation',
          most: [5, 3, 45],
          mostKeys: 28,
          async work(hand) {
            const ahead = hand.dialog().getByRole('region', { name: 'Preview result' })
            const fact = (name: string) => main.locator('dl > div').filter({ hasText: name })
            await hand.goTo('installation', 'Installation')
            await fact('Locked').getByText('Yes', { exact: true }).waitFor()
            await hand.click(main.getByRole('button', { name: 'Reopen the installer' }))
            await hand.type(hand.dialog().getByLabel('Confirmation'), 'reset-install')
            await hand.click(hand.button('Preview changes'))
            await ahead.getByText('Nothing was changed yet.').waitFor()
            await ahead.getByText('Install token required').waitFor()
            t.equal((await call('GET', 'install/status')).installed, true, 'showing it changes nothing')
            await hand.type(hand.dialog().getByLabel(/^Reason/), 'It moves to Berlin')
            await hand.click(hand.button('Reopen the installer'))
            await hand.dialog().getByText('The installation is open again.').waitFor()
            await hand.press('Escape')
            await fact('Locked').getByText('No', { exact: true }).waitFor()
          },
          isDone: async (status) => (await status()).installed === false,
        },
        () => call('GET', 'install/status'),
        Hand,
      )
      t.equal(await landing(), '/install/')
      const credentials = { username: 'root', password: secrets.administrator }
      const { accessToken } = await call('POST', 'auth/login', credentials)
      const headers = { authorization: `Bearer ${accessToken}` }
      const { items } = await call('GET', 'admin/install/audit-logs?action=state-reset', undefined, headers)
      assertMembers(t, items.slice(0, 2), [
        { operator: 'root', status: 'passed', summary: { finding: 'reset', reason: 'It moves to Berlin' } },
        { operator: 'root', summary: { finding: 'would-reset' } },
      ])
      t.match(await install(), { passed: true, locked: true }, 'it can be installed again')
      t.not(await landing(), '/install/')
    }
  },
)
