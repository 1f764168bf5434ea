/** Tests drafts, publication and history of templates. */
import { database } from '@plinth/database'
import { rejectsWith } from '@plinth/dev/testing'
import { onEachDatabase } from '@plinth/dev/testing/database'
import { definePlugin } from '@plinth/kernel'
import storagePlugin, { storage } from '@plinth/storage'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { templateUses } from '../src/contract.ts'
import { compareVersions } from '../src/versions/comparison.ts'
import { adminTemplatesPath, startTemplates } from './fixtures/product.ts'

// biome-ignore lint/suspicious/noExplicitAny: responses of many routes
type Data = any

const versionsPath = '/api/v1/admin/template-versions'
const draftText = { subject: 's', content: 'draft {{name}}' }

/** A plugin that says where templates are used. */
const owner = definePlugin({
  id: 'owner',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [templateUses],
  setup: ({ contribute }) =>
    contribute(templateUses, 'owner', {
      title: { en: 'Rule', 'zh-CN': '规则' },
      find: async (code) => [{ code, name: `${code} rule`, page: 'owner.rule', id: 7 }],
    }),
})

onEachDatabase(t, 'templates have drafts and versions', async (t: Test, db) => {
  const { save, templates, call, running, clock } = await startTemplates(t, db, {}, [storagePlugin, owner])
  const sql = running.service(database)
  const reasonOf = ({ code, data }: Data): string => data?.reason ?? code
  const rendered = async (code: string, versions?: Record<string, number>) =>
    (await templates.render({ code, channel: 'mail', variables: { name: 'Ada' }, versions }))?.content
  const history = async (templateId: number): Promise<Data[]> =>
    (await call('GET', `${versionsPath}?templateId=${templateId}`)).data.items
  const publish = async (id: number, content: string) => {
    const { data } = await call('GET', `${adminTemplatesPath}/${id}/draft`)
    const { version, publishedVersion: baseVersion } = data
    const saved = await call('PUT', `${adminTemplatesPath}/${id}/draft`, {
      subject: 's',
      content,
      version,
      baseVersion,
    })
    return call('POST', `${adminTemplatesPath}/${id}/draft/publish`, { version: saved.data.version, note: content })
  }

  await t.test('each operation in each state has its result', async (t) => {
    /** Brings a new template into a state, and returns its id. */
    const states: Record<string, (code: string) => Promise<number>> = {
      unknown: async () => 404,
      published: async (code) => (await save({ code })).id,
      draft: async (code) => {
        const { id } = await save({ code })
        await call('PUT', `${adminTemplatesPath}/${id}/draft`, { ...draftText, version: 0, baseVersion: 1 })
        return id
      },
      'faulty draft': async (code) => {
        const { id } = await save({ code })
        const faulty = { subject: 's', content: '{{#if}}', version: 0, baseVersion: 1 }
        await call('PUT', `${adminTemplatesPath}/${id}/draft`, faulty)
        return id
      },
      outdated: async (code) => {
        const { id } = await save({ code })
        await call('PUT', `${adminTemplatesPath}/${id}/draft`, { ...draftText, version: 0, baseVersion: 1 })
        await call('PUT', `${adminTemplatesPath}/${id}`, { subject: 's', content: 'other', version: 1 })
        return id
      },
      deleted: async (code) => {
        const { id } = await save({ code })
        await call('PUT', `${adminTemplatesPath}/${id}/draft`, { ...draftText, version: 0, baseVersion: 1 })
        await call('DELETE', `${adminTemplatesPath}/${id}`)
        return id
      },
    }
    const draftOf = (id: number) => `${adminTemplatesPath}/${id}/draft`
    const operations: Record<string, (id: number) => Promise<Data>> = {
      read: (id) => call('GET', draftOf(id)),
      'save new': (id) => call('PUT', draftOf(id), { ...draftText, version: 0, baseVersion: 1 }),
      'save again': (id) => call('PUT', draftOf(id), { ...draftText, version: 1, baseVersion: 1 }),
      publish: (id) => call('POST', `${draftOf(id)}/publish`, { version: 1 }),
      'publish old': (id) => call('POST', `${draftOf(id)}/publish`, { version: 9 }),
      discard: (id) => call('DELETE', draftOf(id)),
      'discard old': (id) => call('DELETE', `${draftOf(id)}?version=9`),
      compare: (id) => call('GET', `${draftOf(id)}/comparison`),
      change: (id) => call('PUT', `${adminTemplatesPath}/${id}`, { ...draftText, version: 1 }),
      'take back': async (id) => call('POST', `${versionsPath}/${(await history(id)).at(-1)?.id ?? 404}/take-back`, {}),
      uses: (id) => call('GET', `${adminTemplatesPath}/${id}/uses`),
    }
    const table: Record<string, Record<string, string>> = {}
    for (const [state, enter] of Object.entries(states)) {
      const results: Record<string, string> = {}
      for (const [operation, run] of Object.entries(operations)) {
        const id = await enter(`${state}.${operation}`.replaceAll(' ', '-'))
        results[operation] = reasonOf(await run(id))
      }
      table[state] = results
    }
    const [unknown, none, conflict] = ['template.unknown', 'template.no-draft', 'template.version-conflict']
    const ok = '200'
    const all = (result: string) => Object.fromEntries(Object.keys(operations).map((operation) => [operation, result]))
    const withDraft = { ...all(ok), 'save new': conflict, 'publish old': conflict, 'discard old': conflict }
    t.same(table, {
      unknown: { ...all(unknown), 'take back': 'template.version-unknown' },
      published: {
        ...all(ok),
        'save again': none,
        publish: none,
        'publish old': none,
        discard: none,
        'discard old': none,
      },
      draft: withDraft,
      'faulty draft': { ...withDraft, publish: 'template.source-refused' },
      outdated: { ...withDraft, publish: 'template.draft-outdated', change: conflict },
      deleted: all(unknown),
    })
  })

  await t.test('a draft is not sent until it is published, and a version can be taken back', async (t) => {
    const { id } = await save({ code: 'letter', content: 'one' })
    await call('PUT', `${adminTemplatesPath}/${id}/draft`, { ...draftText, version: 0, baseVersion: 1 })
    t.equal(await rendered('letter'), 'one')
    t.hasStrict(await call('POST', `${adminTemplatesPath}/${id}/draft/publish`, { version: 1, note: 'new' }), {
      data: { id, version: 2 },
    })
    t.equal(await rendered('letter'), 'draft Ada')
    const first = (await history(id)).at(-1)
    clock.shiftWallClock(1_000)
    const back = await call('POST', `${versionsPath}/${first.id}/take-back`, { current: 2, note: 'undo' })
    t.hasStrict(back, { data: { id, version: 3 } })
    t.equal(await rendered('letter'), 'one')
    t.equal(
      reasonOf(await call('POST', `${versionsPath}/${first.id}/take-back`, { current: 2 })),
      'template.version-conflict',
    )
    const rows = await history(id)
    t.same(
      rows.map(({ number, note, createdBy, supersededAt }) => [number, note, createdBy, supersededAt === null]),
      [
        [3, 'undo', 'admin', true],
        [2, 'new', 'admin', false],
        [1, null, 'admin', false],
      ],
    )
    const { data } = await call('GET', `${versionsPath}/${rows[1].id}/comparison`)
    t.same(data, {
      fields: [],
      lines: [
        { field: 'content', change: 'removed', text: 'one' },
        { field: 'content', change: 'added', text: 'draft {{name}}' },
      ],
    })
    t.same((await call('GET', `${versionsPath}/${rows[2].id}/comparison?against=published`)).data, {
      fields: [],
      lines: [],
    })
    const audits = (await call('GET', `/api/v1/admin/iam/audits?targetType=template&targetId=${id}`)).data.items
    t.same(
      audits.map(({ action }: Data) => action),
      ['template.take-back', 'template.publish', 'template.save-draft', 'template.create'],
    )
  })

  await t.test('of two editors at once, one saves and one publishes', async (t) => {
    const { id } = await save({ code: 'editors' })
    const path = `${adminTemplatesPath}/${id}/draft`
    const both = <T>(work: (n: number) => Promise<T>) => Promise.all([work(1), work(2)])
    const sorted = (results: Data[]) => results.map(reasonOf).sort()
    const conflict = ['200', 'template.version-conflict']
    const saved = await both((n) => call('PUT', path, { subject: 's', content: `${n}`, version: 0, baseVersion: 1 }))
    t.same(sorted(saved), conflict, 'the first draft')
    const again = await both((n) => call('PUT', path, { subject: 's', content: `${n}`, version: 1, baseVersion: 1 }))
    t.same(sorted(again), conflict, 'the next save')
    const { data } = again.find(({ code }) => code === '409')
    t.hasStrict(data, { currentVersion: 2, updatedBy: 'admin' })
    const published = await both(() => call('POST', `${path}/publish`, { version: 2 }))
    t.equal(published.filter(({ code }) => code === '200').length, 1)
    t.match(sorted(published)[1], /^template\.(version-conflict|no-draft|draft-outdated)$/)
    t.same(
      (await history(id)).map(({ number }) => number),
      [2, 1],
    )
  })

  await t.test('a message keeps the versions of the time when it was stored', async (t) => {
    const { id } = await save({ code: 'queued', content: 'one {{name}}' })
    const versions = await templates.publishedVersions('queued')
    t.same(versions, { [id]: 1 })
    await publish(id, 'two')
    t.same([await rendered('queued', versions), await rendered('queued')], ['one Ada', 'two'])
    await save({ code: 'queued', channel: 'mail', content: 'mail' })
    await call('PUT', `${adminTemplatesPath}/${id}`, { subject: 's', content: 'three', version: 2, enabled: false })
    t.same([await rendered('queued', versions), await rendered('queued')], ['one Ada', 'mail'], 'switched off')
    await call('DELETE', `${adminTemplatesPath}/${id}`)
    t.equal(await rendered('queued', versions), 'one Ada', 'deleted')
    t.equal(await rendered('queued', {}), undefined, 'a template that was created later is not used')

    const purge = running.scheduledTasks.find(({ name }) => name === 'template.versions.purge')
    const age = async (days: number) => {
      const at = new Date(sql.clock.now() - days * 86_400_000)
      await sql.execute('update message_template_version set superseded_at = ? where template_id = ?', [at, id])
      await purge?.run(new AbortController().signal)
    }
    await age(1_094)
    t.equal(await rendered('queued', versions), 'one Ada', 'it is stored longer than a message can wait')
    await age(1_096)
    await rejectsWith(t, rendered('queued', versions), { code: '404', reason: 'template.version-unknown' })
    t.equal(await rendered('queued'), 'mail', 'published versions are never removed')
  })

  await t.test('the languages that were tried are listed', async (t) => {
    await save({ code: 'chain', locale: 'en', content: 'en' })
    await save({ code: 'chain', locale: 'zh-CN', content: 'cn' })
    const steps = async (locale?: string) =>
      (await templates.fallback({ code: 'chain', channel: 'mail', locale })).map(
        ({ locale, rule, isDefaultLanguage, found }) =>
          `${locale} ${rule}${isDefaultLanguage ? ' default' : ''} ${found ?? '-'}`,
      )
    t.same(
      { tw: await steps('zh-TW'), sg: await steps('zh_SG'), cn: await steps('zh-CN'), none: await steps() },
      {
        tw: ['zh-TW exact -', 'zh-TW language -', 'zh-TW region -', 'en exact default en'],
        sg: ['zh-SG exact -', 'zh-SG language -', 'zh-SG region zh-CN'],
        cn: ['zh-CN exact zh-CN'],
        none: ['en exact default en'],
      },
    )
  })

  await t.test('test values belong to variables of the template and are no secrets', async (t) => {
    const { id } = await save({ code: 'tested', content: '{{name}} {{shop.title}}', testValues: { name: 'Ada' } })
    const put = async (testValues: object | undefined, version: number) =>
      reasonOf(
        await call('PUT', `${adminTemplatesPath}/${id}`, { subject: 's', content: '{{name}}', testValues, version }),
      )
    t.same(
      [
        await put({ nam: 1 }, 1),
        await put({ name: { password: 'x' } }, 1),
        await put({ name: 'x'.repeat(17_000) }, 1),
        await put({ name: 'Bob' }, 1),
        await put(undefined, 2),
      ],
      ['template.test-values-unknown', 'template.test-values-refused', 'template.test-values-refused', '200', '200'],
    )
    t.same((await call('GET', `${adminTemplatesPath}/${id}`)).data.testValues, { name: 'Bob' }, 'omitted values stay')
    const shown = await call('POST', `${adminTemplatesPath}/preview`, {
      content: '{{name}}',
      testValues: { name: 'Cyd' },
    })
    t.equal(shown.data.content, 'Cyd')
    await call('PUT', `${adminTemplatesPath}/${id}/draft`, {
      subject: 's',
      content: 'draft of {{name}}',
      testValues: { name: 'Dan' },
      version: 0,
      baseVersion: 3,
    })
    t.same(
      [(await templates.sample(id, 'published')).content, (await templates.sample(id, 'draft')).content],
      ['Bob', 'draft of Dan'],
    )
  })

  await t.test('a draft has files, and its HTML shows only its own pictures', async (t) => {
    const { id } = await save({ code: 'pictured' })
    const path = `${adminTemplatesPath}/${id}/draft`
    const upload = async (name: string) =>
      (await call('POST', '/api/v1/admin/storage/uploads', { name, content: Buffer.from(name).toString('base64') }))
        .data.id
    const attach = async (name: string, version: number, more: object = {}) =>
      call('POST', `${path}/attachments`, { file: await upload(name), version, ...more })
    const html = '<img src="cid:logo"><img src="cid:{{picture}}">'
    const fields = { subject: 's', content: 'c', html, htmlFormat: 'html', baseVersion: 1 }
    t.equal(reasonOf(await call('PUT', path, { ...fields, version: 0 })), '200')
    const refused = await call('POST', `${path}/publish`, { version: 1 })
    t.hasStrict(refused.data, {
      reason: 'template.source-refused',
      fault: { rule: 'picture-unknown', near: 'cid:logo' },
    })
    t.same(
      [
        reasonOf(await attach('logo.png', 1, { contentId: 'logo' })),
        reasonOf(await attach('logo.png', 2)),
        reasonOf(await attach('a.exe', 2)),
        reasonOf(await attach('terms.pdf', 1)),
        reasonOf(await attach('terms.pdf', 2, { name: 'Terms.pdf' })),
        reasonOf(await call('POST', `${path}/attachments/remove`, { name: 'none', version: 3 })),
      ],
      [
        '200',
        'template.attachment-taken',
        'storage.upload-type',
        'template.version-conflict',
        '200',
        'template.attachment-unknown',
      ],
    )
    t.equal(reasonOf(await call('POST', `${path}/publish`, { version: 3 })), '200')
    const letter = await templates.render({ code: 'pictured', channel: 'mail', variables: { picture: 'x' } })
    t.same(
      letter?.attachments.map(({ name, contentId }) => [name, contentId]),
      [
        ['logo.png', 'logo'],
        ['Terms.pdf', undefined],
      ],
    )
    const [{ disk = '', path: stored = '' } = {}] = letter?.attachments ?? []
    t.equal((await running.service(storage).stat(disk, stored))?.size, 'logo.png'.length)
    const many = await call('GET', `${adminTemplatesPath}/${id}/uses`)
    t.same(many.data.uses, [
      { kind: 'Rule', use: { value: '7', name: 'pictured rule', page: 'owner.rule', labels: null, unit: null } },
    ])
  })

  await t.test('earlier templates become versions with their numbers', async (t) => {
    const { id } = await save({ code: 'earlier', content: 'old' })
    await call('PUT', `${adminTemplatesPath}/${id}`, { subject: 's', content: 'newer', version: 1 })
    await sql.execute('delete from message_template_version where template_id = ?', [id])
    t.equal(await rendered('earlier', { [id]: 2 }), 'newer', 'the template contains its published version')
    t.hasStrict(await publish(id, 'next'), { code: '200', data: { version: 3 } })
    t.same(
      (await history(id)).map(({ number }) => number),
      [3],
    )
  })
})

t.test('a comparison shows each changed line once, in the order of the texts', (t) => {
  const line = fc.constantFrom('a', 'b', 'c', '')
  const fields = (content: string) => ({
    subject: 's',
    content,
    html: null,
    htmlFormat: null,
    attachments: null,
    testValues: null,
  })
  fc.assert(
    fc.property(fc.array(line, { maxLength: 30 }), fc.array(line, { maxLength: 30 }), (before, after) => {
      const { lines } = compareVersions(fields(before.join('\n')), fields(after.join('\n')))
      const of = (changes: readonly string[]) =>
        lines.filter(({ change }) => changes.includes(change)).map(({ text }) => text)
      if (before.join('\n') === after.join('\n')) return lines.length === 0
      if (lines.some(({ change }) => change === 'skipped')) return true
      const split = (text: string) => (text === '' ? [] : text.split('\n'))
      t.same(of(['removed', 'same']), split(before.join('\n')))
      t.same(of(['added', 'same']), split(after.join('\n')))
      return true
    }),
  )
  const [long, other] = ['x\n'.repeat(3_000), 'y\n'.repeat(3_000)]
  t.equal(compareVersions(fields(long), fields(other)).lines.length, 5_000, 'long texts are bounded')
  t.end()
})
