import { database } from '@plinth/database'
import { assertMembers } from '@plinth/dev/testing'
import { onEachDatabase, watchStatements } from '@plinth/dev/testing/database'
import t, { type Test } from 'tap'
import { pages } from '../src/admin-pages.ts'
import { adminTemplatesPath, startTemplates } from './fixtures/product.ts'

onEachDatabase(t, 'templates are found, rendered, listed and changed', async (t: Test, db) => {
  const { save, templates, call, running, server, clock } = await startTemplates(t, db)

  await t.test('N-020 N-021 N-022 code, channel and language select the template', async (t) => {
    const make = (channel: string, locale: string) =>
      save({ code: 'order.paid', channel, locale, content: `${channel} ${locale} {{name}}` })
    const found = async (channel: string, locale?: string, code = 'order.paid') =>
      (await templates.render({ code, channel, locale, variables: { name: 'Ada' } }))?.content
    t.equal(await found('mail', 'en'), undefined, 'nothing is there')
    await make('all', 'en')
    t.equal(await found('mail', 'en'), 'all en Ada', 'the one for all channels')
    await make('mail', 'en')
    t.equal(await found('mail', 'en'), 'mail en Ada', 'the own one of the channel wins')
    t.equal(await found('sms', 'en'), 'all en Ada')
    await make('all', 'zh-Hans-CN')
    t.equal(await found('mail', 'zh-Hans-CN'), 'all zh-Hans-CN Ada', 'a language that is read comes before a channel')
    t.equal(await found('mail', 'ZH-hans-cn'), 'all zh-Hans-CN Ada')
    t.equal(await found('mail', 'zh'), 'all zh-Hans-CN Ada', 'the same language elsewhere')
    await make('all', 'zh')
    t.equal(await found('mail', 'zh-SG'), 'all zh Ada', 'the language alone comes before another region')
    t.equal(await found('mail', 'zh_SG'), 'all zh Ada')
    t.equal(await found('mail', 'zh-TW'), 'mail en Ada', 'readers of another script get the default language')
    await make('all', 'zh-HK')
    t.equal(await found('mail', 'zh-TW'), 'all zh-HK Ada', 'the same script in another region')
    t.equal(await found('mail', 'fr'), 'mail en Ada', 'the default language')
    t.equal(await found('mail', 'no language'), 'mail en Ada')
    t.equal(await found('mail'), 'mail en Ada')
    t.equal(await found('mail', 'en', 'order'), undefined)
    t.equal(await found('mail', 'en', 'ORDER.PAID'), undefined, 'codes are compared as they are')
    await save({ code: 'only.french', locale: 'fr' })
    t.equal(await found('mail', 'en', 'only.french'), undefined, 'no language that nobody asked for')
    await save({ code: 'off', enabled: false })
    t.equal(await found('mail', 'en', 'off'), undefined, 'one that is not in use')
  })

  await t.test('N-016 N-024 subject and text are not escaped, HTML is, and missing variables are listed', async (t) => {
    // Characters that mail programs and terminals interpret as a line break or a command, in addition to CR and LF.
    await save({ code: 'control', subject: 'a{{x}}b' })
    for (const control of ['\u0000', '\t', '\u000b', '\u001b', '\u007f', '\u0085', '\u2028', '\u2029']) {
      const { subject } =
        (await templates.render({ code: 'control', channel: 'mail', variables: { x: control } })) ?? {}
      t.equal(subject, 'a b', `U+${control.charCodeAt(0).toString(16)} is a blank`)
    }
    await save({
      code: 'welcome',
      subject: 'Hello {{name}}',
      content: 'Dear {{name}}, {{#if gift}}take {{gift}}{{/if}} {{shop.title}}',
      html: '<p title="{{name}}">{{name}} <a href="{{safeUrl link}}">x</a></p>',
      htmlFormat: 'html',
    })
    const variables = { name: '<Ada> & "co"\r\nBcc: x@y.z', link: 'javascript:alert(1)' }
    const rendered = await templates.render({ code: 'welcome', channel: 'mail', variables })
    assertMembers(t, rendered, {
      template: {
        code: 'welcome',
        channel: 'all',
        locale: 'en',
        version: 1,
        variables: ['name', 'shop.title', 'link'],
      },
      subject: 'Hello <Ada> & "co" Bcc: x@y.z',
      content: 'Dear <Ada> & "co"\r\nBcc: x@y.z,  ',
      missingVariables: ['shop.title'],
    })
    t.equal(
      rendered?.html,
      '<p title="&lt;Ada&gt; &amp; &quot;co&quot;\r\nBcc: x@y.z">&lt;Ada&gt; &amp; &quot;co&quot;\r\nBcc: x@y.z <a href="#">x</a></p>',
    )
    const given = { name: 'n', link: 'https://a.b', shop: { title: null } }
    t.same((await templates.render({ code: 'welcome', channel: 'x', variables: given }))?.missingVariables, [])
    t.same((await templates.find({ code: 'welcome', channel: 'x' }))?.variables, ['name', 'shop.title', 'link'])
    const rejectionOf = (code: string, variables: Parameters<typeof templates.render>[0]['variables']) =>
      templates.render({ code, channel: 'x', variables }).catch((error: unknown) => error)
    t.hasStrict(await rejectionOf('welcome', { name: 'x'.repeat(200_000) }), {
      code: '400',
      reason: 'template.value-refused',
    })
    await save({ code: 'long', content: '{{#each l}}{{@root.t}}{{/each}}' })
    t.hasStrict(await rejectionOf('long', { l: Array(1000).fill(1), t: 'x'.repeat(100_000) }), {
      code: '400',
      reason: 'template.output-too-large',
      data: { code: 'long' },
    })
  })

  await t.test('a saved MJML template is compiled to HTML', async (t) => {
    const html =
      '<mjml><mj-body><mj-section><mj-column><mj-text>Hi {{name}}</mj-text></mj-column></mj-section></mj-body></mjml>'
    const { id } = await save({ code: 'letter', html, htmlFormat: 'mjml' })
    const letter = await templates.render({ code: 'letter', channel: 'mail', variables: { name: '<Ada>' } })
    t.match(letter?.html, /^<!doctype html>[\s\S]*Hi &lt;Ada&gt;/i)
    t.notMatch(letter?.html, /<mj/)
    t.hasStrict(await call('GET', `${adminTemplatesPath}/${id}`), { data: { html, htmlFormat: 'mjml' } })
  })

  await t.test('rendering uses a changed template immediately', async (t) => {
    const { id, updatedAt } = await save({ code: 'news', content: 'one' })
    clock.shiftWallClock(60_000)
    const rendered = async () => (await templates.render({ code: 'news', channel: 'mail', variables: {} }))?.content
    t.equal(await rendered(), 'one')
    const changed = await call('PUT', `${adminTemplatesPath}/${id}`, { subject: 's', content: 'two', version: 1 })
    t.hasStrict(changed, {
      code: '200',
      data: { id, version: 2, content: 'two', code: 'news', html: null, htmlFormat: null },
    })
    t.ok(Date.parse(changed.data.updatedAt) - Date.parse(updatedAt) >= 60_000, 'with the time of the change')
    t.equal(await rendered(), 'two')
    // Changes the row in the database directly, as another instance would.
    await running.service(database).execute(`update message_template set enabled = ? where id = ?`, [false, id])
    t.equal(await rendered(), undefined)
  })

  await t.test('a change contains the version on which it is based', async (t) => {
    const { id } = await save({ code: 'versions' })
    t.hasStrict(await call('PUT', `${adminTemplatesPath}/${id}`, { subject: 's', content: 'c' }), { code: '400' })
  })

  await t.test('a rejected template is not stored', async (t) => {
    const create = (template: object, locale?: string) =>
      call(
        'POST',
        adminTemplatesPath,
        { code: 'bad', channel: 'all', locale: 'en', subject: 's', content: 'c', ...template },
        locale,
      )
    t.match(await create({ html: '<a href="{{x}}">', htmlFormat: 'html' }, 'zh-CN'), {
      code: /^400$/,
      message: /html:1:10.*safeUrl/,
      data: {
        reason: /^template\.source-refused$/,
        fault: { field: 'html', rule: 'address-unsafe', line: 1, column: 10, near: '{{x}}' },
      },
    })
    t.hasStrict(await create({ html: '<mjml><mj-body><mj-raw>{{#each', htmlFormat: 'mjml' }), { code: '400' })
    t.hasStrict(await create({ html: '<p>x</p>' }), { code: '400', data: { reason: 'template.html-format' } })
    t.hasStrict(await create({ htmlFormat: 'html' }), { code: '400', data: { reason: 'template.html-format' } })
    t.hasStrict(await create({ locale: 'x y' }), { code: '400', data: { reason: 'template.locale-invalid' } })
    for (const bad of [
      { code: 'UPPER' },
      { channel: '' },
      { subject: 'two\nlines' },
      { content: 'nul\0' },
      { content: 'x'.repeat(20_001) },
    ]) {
      t.hasStrict(await create(bad), { code: '400' }, JSON.stringify(bad).slice(0, 40))
    }
    t.match((await call('GET', `${adminTemplatesPath}?code=bad`)).data, { total: 0 })
    await save({ code: 'taken', locale: 'zh-cn' })
    t.hasStrict(await create({ code: 'taken', locale: 'zh-CN' }), {
      code: '409',
      data: { reason: 'template.taken', field: 'code' },
    })
  })

  await t.test('an unsaved template can be previewed, with its variables', async (t) => {
    const preview = (body: object, locale?: string) => call('POST', `${adminTemplatesPath}/preview`, body, locale)
    const source = {
      subject: 'Hello {{name}}',
      content: 'Dear {{name}}, {{#if gift}}take {{gift}}{{/if}}{{#each items}}{{title}}{{/each}}',
      html: '<mjml><mj-body><mj-section><mj-column><mj-text>{{user.name}} {{name}}</mj-text></mj-column></mj-section></mj-body></mjml>',
      htmlFormat: 'mjml',
    }
    const variables = { name: '<Ada>', items: [{ title: 'Tea' }], gift: null }
    const { data } = await preview({ ...source, variables })
    t.match(data, { subject: 'Hello <Ada>', content: 'Dear <Ada>, Tea', html: /<!doctype html>[\s\S]* &lt;Ada&gt;/ })
    t.same(data.variables, [
      { name: 'name', usedIn: ['subject', 'content', 'html'], needed: true, given: true },
      { name: 'gift', usedIn: ['content'], needed: false, given: true },
      { name: 'items', usedIn: ['content'], needed: true, given: true },
      { name: 'user.name', usedIn: ['html'], needed: true, given: false },
    ])
    t.same((await preview({})).data, { subject: '', content: '', html: null, variables: [] }, 'nothing is needed yet')
    t.hasStrict(await preview({ htmlFormat: 'mjml', html: '' }), { code: '200', data: { html: null } })
    const { htmlFormat, html } = source
    t.match((await preview({ html, htmlFormat, locale: 'zh-cn' })).data.html, '<html lang="zh-CN"')

    t.match(await preview({ ...source, content: 'a\n {{#if}}' }, 'zh-CN'), {
      code: /^400$/,
      message: /content:2:\d+/,
      data: { reason: /^template\.source-refused$/, field: 'content', fault: { line: 2 } },
    })
    t.hasStrict(await preview({ html: '<p>x</p>' }), { data: { reason: 'template.html-format', field: 'htmlFormat' } })
    assertMembers(t, await preview({ content: 'x'.repeat(20_001) }), {
      code: /^400$/,
      data: { errors: [{ field: /content/ }] },
    })
    t.hasStrict(await preview({ variables: { x: 'x'.repeat(150_001) } }), {
      data: { reason: 'template.value-refused', field: 'variables' },
    })
    const long = { content: '{{#each l}}{{@root.t}}{{/each}}' }
    t.match(await preview({ ...long, variables: { l: Array(1_000).fill(1), t: 'x'.repeat(100_000) } }), {
      code: /^400$/,
      message: /too large with these values/,
      data: { reason: /^template\.output-too-large$/ },
    })
    const many = Array.from({ length: 300 }, (_, at) => `{{v${at}}}`).join('')
    t.equal((await preview({ content: many })).data.variables.length, 200)

    t.hasStrict((await server.inject({ method: 'POST', url: `${adminTemplatesPath}/preview`, payload: {} })).json(), {
      code: '401',
    })
    t.match(
      (await call('GET', `${adminTemplatesPath}?keyword=Hello%20%7B%7Bname&code=preview`)).data,
      { total: 0 },
      'nothing is stored',
    )
  })

  await t.test('the list has filters, and no bodies', async (t) => {
    const html =
      '<mjml><mj-body><mj-section><mj-column><mj-text>{{who}}</mj-text></mj-column></mj-section></mj-body></mjml>'
    const { id } = await save({
      code: 'listed.one',
      channel: 'mail',
      locale: 'de',
      subject: 'Über {{who}}',
      html,
      htmlFormat: 'mjml',
    })
    const list = async (query: string) => (await call('GET', `${adminTemplatesPath}?${query}`)).data
    const { items, total } = await list('code=listed.one')
    t.equal(total, 1)
    assertMembers(t, items, [
      { id, channel: 'mail', locale: 'de', htmlFormat: 'mjml', variables: ['who'], version: 1, updatedBy: 'admin' },
    ])
    t.notMatch(Object.keys(items[0]), ['html'])
    t.notHas(items[0], { content: String, compiled: String, html: String })
    for (const query of ['channel=mail&locale=de', 'locale=DE', 'keyword=STED.on', 'keyword=BER%20%7B&enabled=true']) {
      assertMembers(t, await list(query), { total: 1, items: [{ id }] }, query)
    }
    t.match(await list('locale=de&enabled=false'), { total: 0 })
    t.match((await call('GET', `${adminTemplatesPath}/${id}`)).data, { id, html, content: 'c' })
  })

  await t.test('the page copies a template to another language, and the copy is disabled', async (t) => {
    const { id } = await save({ code: 'copied', channel: 'mail', locale: 'en', subject: 'Hi', content: 'Hi {{who}}' })
    const { data: row } = await call('GET', `${adminTemplatesPath}/${id}`)
    const page = pages.find((one) => one.id === 'template.template')
    const { body = {} } = page?.actions?.find(({ operation }) => operation === 'postAdminTemplates') ?? {}
    const sent = Object.entries(body).map(([name, from]) => [
      name,
      'field' in from ? row[from.field] : Object(from).value,
    ])
    const { data: copy } = await call('POST', adminTemplatesPath, { ...Object.fromEntries(sent), locale: 'zh-CN' })
    const { code, channel, subject, content, html, htmlFormat } = row
    t.hasStrict(copy, { code, channel, subject, content, html, htmlFormat, locale: 'zh-CN', enabled: false })
  })

  await t.test('every change is in the audit', async (t) => {
    const { id } = await save({ code: 'audited' })
    await call('DELETE', `${adminTemplatesPath}/${id}`)
    const audits = (await call('GET', `/api/v1/admin/iam/audits?targetType=template&targetId=${id}`)).data.items
    assertMembers(t, audits, [
      { action: 'template.delete' },
      { action: 'template.create', summary: { code: 'audited' } },
    ])
  })

  await t.test('each filter of the list and each lookup is a range scan of an index', async (t) => {
    const sql = running.service(database)
    const watched = watchStatements(sql, 'message_template')
    const expected: readonly (readonly [string, string])[] = [
      ['code=listed.one', 'message_template_code_id_index'],
      ['channel=mail', 'message_template_channel_id_index'],
      ['locale=de', 'message_template_locale_id_index'],
      ['enabled=false', 'message_template_enabled_id_index'],
    ]
    for (const [query, index] of expected) {
      const plans = await watched.plansOf(() => call('GET', `${adminTemplatesPath}?${query}&count=none`))
      assertMembers(t, plans, [{ indexes: [index], sorts: false, scans: [] }], query)
    }
    const plans = await watched.plansOf(() => templates.find({ code: 'listed.one', channel: 'mail', locale: 'de' }))
    assertMembers(t, plans[0], { scans: [], indexes: [/^message_template_code_/] })
  })
})
