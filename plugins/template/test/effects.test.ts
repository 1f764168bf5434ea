/** What keys of the templates do that no other test is about. */
import { database } from '@plinth/database'
import { createDatabase, watchStatements } from '@plinth/database/testing'
import { until } from '@plinth/kernel/testing'
import t, { type Test } from 'tap'
import { path, startTemplates } from './fixtures/product.ts'

async function start(t: Test, set: Record<string, string>) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  return startTemplates(t, db, set)
}

t.test('a compiled template is kept as long as there is room', async (t) => {
  const readsOf = async (size: string) => {
    const { save, templates, running } = await start(t, { 'platform.template.cache-size': size })
    await save({ code: 'hello', content: 'Hello {{name}}' })
    const render = () => templates.render({ code: 'hello', channel: 'log', locale: 'en', variables: { name: 'Ada' } })
    t.match(await render(), { content: 'Hello Ada' })
    const { statements } = watchStatements(running.service(database), 'message_template')
    t.match(await render(), { content: 'Hello Ada' })
    return statements.size
  }
  // effect of platform.template.cache-size
  t.ok((await readsOf('1')) > (await readsOf('32MiB')), 'without room it is read again')
})

t.test('a template that takes too long to compile is refused', async (t) => {
  const { call, clock } = await start(t, { 'platform.template.compile-deadline': '2s' })
  const section = '<mj-section><mj-column><mj-text>x</mj-text></mj-column></mj-section>'
  const html = `<mjml><mj-body>${section.repeat(600)}</mj-body></mjml>`
  const sleepers = clock.sleepers
  const saving = call('POST', path, {
    code: 'large',
    channel: 'mail',
    locale: 'en',
    subject: 's',
    content: 'c',
    html,
    htmlFormat: 'mjml',
  })
  await until(() => clock.sleepers !== sleepers, 'a timer is set', 0)
  await clock.advance(2_000)
  const refused = await saving
  // effect of platform.template.compile-deadline
  t.hasStrict(refused, { code: '400', data: { reason: 'template.compile-timeout' } })
})
