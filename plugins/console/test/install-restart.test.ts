import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createDatabase, dialectsUnderTest, onServer, type TestServer } from '@plinth/database/testing'
import t from 'tap'
import { barriers, leftovers, nothingLeft, openPage, picture, skip } from './fixtures/browser.ts'
import { signsIn, startProduct } from './fixtures/product.ts'
import { administrator, leastForm, Wizard } from './fixtures/wizard.ts'

const timeout = 300_000

/** An empty database, and a user of its own who has a password with everything that a file must quote. */
async function databaseWithUser(dialect: TestServer) {
  const { config, drop } = await createDatabase(dialect)
  const name = String(config['platform.database.name'])
  const username = `wizard_${randomBytes(4).toString('hex')}`
  const password = `pw ${randomBytes(9).toString('base64url')} #1`
  const user = dialect === 'postgresql' ? username : `'${username}'@'%'`
  if (dialect === 'postgresql') {
    await onServer(
      dialect,
      `create role ${user} login password '${password}'`,
      `alter database ${name} owner to ${user}`,
    )
  } else {
    await onServer(dialect, `create user ${user} identified by '${password}'`, `grant all on ${name}.* to ${user}`)
  }
  const dropAll = async () => {
    await drop()
    await onServer(dialect, dialect === 'postgresql' ? `drop role ${user}` : `drop user ${user}`)
  }
  return { name, username, password, drop: dropAll }
}

/** Browsers report requests that a product which starts again does not answer; nobody can keep them from it. */
const isOfRestart = (complaint: string) =>
  /^Failed to load resource: (?:net::ERR_|the server responded with a status of 503)/.test(complaint)

for (const { dialect, skip: noServer } of dialectsUnderTest) {
  if (dialect === 'sqlite') continue
  t.test(
    `I-135 I-148 I-139 a wrong connection is corrected, then the product restarts on ${dialect} and the wizard goes on`,
    { skip: skip || noServer, timeout },
    async (t) => {
      const server = await databaseWithUser(dialect)
      t.teardown(server.drop)
      const { name, username, password } = server
      const product = await startProduct(t.testdir(), t.teardown)
      const { page, complaints } = await openPage(t.teardown, `${product.url}/install/`, { locale: 'fr-FR' })
      const wizard = new Wizard(page)
      await wizard.heading('Environment check').waitFor()
      t.pass('neither English nor Chinese is wished: English')
      await page.getByRole('listitem').filter({ hasText: 'Node' }).first().waitFor()
      await wizard.next.click()
      await wizard.field('site.name').waitFor()
      await page.getByText(dialect === 'postgresql' ? 'PostgreSQL' : 'MySQL or MariaDB').click()
      t.equal(await wizard.field('database.port').inputValue(), dialect === 'postgresql' ? '5432' : '3306')
      await wizard.fill({
        ...leastForm,
        ...{ 'database.host': '127.0.0.1', 'database.database': name, 'database.username': username },
        ...{ 'database.password': password, 'database.port': '1' },
      })
      await wizard.next.click()
      await wizard.dialog.getByText('The product will start again once').waitFor()
      t.notMatch(await wizard.dialog.innerText(), password)
      await wizard.dialog.getByRole('button', { name: 'Install now' }).click()
      await wizard.heading('The installation stopped').waitFor()
      await page.getByRole('alert').getByText('It stopped at').waitFor()
      t.same(await barriers(page), [], 'failure')
      await picture(page, `failed-${dialect}`)
      await wizard.next.click()
      await wizard.heading('The installation stopped').waitFor()
      await wizard.back.click()
      await wizard.field('database.port').fill(dialect === 'postgresql' ? '5432' : '3306')
      t.equal(await wizard.field('database.password').inputValue(), password, 'the form is still there')
      await wizard.next.click()
      await wizard.dialog.getByRole('button', { name: 'Install now' }).click()
      await wizard.heading('Waiting for the restart').waitFor()
      await picture(page, `restart-${dialect}`)
      t.same(await barriers(page), [], 'restart')
      await wizard.heading('The product is installed').waitFor({ timeout: 180_000 })
      await picture(page, `done-${dialect}`)

      t.same(
        complaints.filter((complaint) => !isOfRestart(complaint)),
        [],
      )
      t.same(await leftovers(page), nothingLeft)
      t.equal(await signsIn(product.url, administrator), '200')
      const file = await readFile(join(product.directory, '.env'), 'utf8')
      t.match(file, `PLATFORM_DATABASE_TYPE=${dialect}`)
      t.notMatch(product.output(), password)
    },
  )
}
