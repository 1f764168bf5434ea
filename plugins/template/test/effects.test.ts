/** Tests the effect of each configuration key of templates. */
import { database } from '@plinth/database'
import { assertKeyEffect, type KeyValues, until } from '@plinth/dev/testing'
import { createDatabase, watchStatements } from '@plinth/dev/testing/database'
import t, { type Test } from 'tap'
import { adminTemplatesPath, startTemplates } from './fixtures/product.ts'

async function start(t: Test, values: KeyValues) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  return startTemplates(t, db, values as Record<string, string>)
}

t.test('a compiled template stays in memory while there is room', async (t) => {
  const [reads] = await assertKeyEffect(t, 'platform.template.cache-size', {
    changed: '1',
    observe: async (values) => {
      const { save, templates, running } = await start(t, values)
      await save({ code: 'hello', content: 'Hello {{name}}' })
      const render = () => templates.render({ code: 'hello', channel: 'log', locale: 'en', variables: { name: 'Ada' } })
      t.match(await render(), { content: 'Hello Ada' })
      const { statements } = watchStatements(running.service(database), 'message_template')
      t.match(await render(), { content: 'Hello Ada' })
      return statements.size > 1
    },
  })
  t.match(reads, { before: false, after: true })
})

t.test('a template that takes too long to compile is rejected', async (t) => {
  const template = {
    code: 'hello',
    channel: 'mail',
    locale: 'en',
    subject: 's',
    content: 'c',
  }
  const [reasons] = await assertKeyEffect(t, 'platform.template.compile-deadline', {
    changed: '2s',
    observe: async (values) => {
      const { call, clock } = await start(t, values)
      const { sleepers } = clock
      const saving = call('POST', adminTemplatesPath, template)
      await until(() => clock.sleepers !== sleepers, 'a timer is set', 0)
      await clock.advance(2_000)
      const { code, data } = await saving
      return data?.reason ?? code
    },
  })
  t.match(reasons, { before: '200', after: 'template.compile-timeout' })
})

t.test('a replaced version is stored as long as the retention', async (t) => {
  const [stored] = await assertKeyEffect(t, 'platform.template.versions.retention', {
    changed: '400d',
    observe: async (values) => {
      const { save, call, running } = await start(t, values)
      const { id } = await save({ code: 'hello' })
      await call('PUT', `${adminTemplatesPath}/${id}`, { subject: 's', content: 'next', version: 1 })
      const sql = running.service(database)
      const at = new Date(sql.clock.now() - 500 * 86_400_000)
      await sql.execute('update message_template_version set superseded_at = ? where number = 1', [at])
      const purge = running.scheduledTasks.find(({ name }) => name === 'template.versions.purge')
      await purge?.run(new AbortController().signal)
      return (await call('GET', `/api/v1/admin/template-versions?templateId=${id}`)).data.total
    },
  })
  t.match(stored, { before: 2, after: 1 })
})
