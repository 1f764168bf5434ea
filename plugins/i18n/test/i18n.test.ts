import { applyLiveValues, assertKeyEffect, assertMembers, rejectsWith, startForTest } from '@plinth/dev/testing'
import { definePlugin, defineProduct, type MessageCatalogues } from '@plinth/kernel'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import i18nPlugin, { i18n } from '../src/index.ts'

const withMessages = (id: string, messages: MessageCatalogues) =>
  definePlugin({ id, version: '1.0.0', kernel: '^1.0.0', messages })

const shop = withMessages('shop', {
  en: {
    shop: {
      greeting: 'Hello {{name}}',
      'out-of-stock': 'Sold out',
      items_one: '{{count}} item',
      items_other: '{{count}} items',
      onlyEnglish: 'Only English',
      between: ' ',
      nested: 'See $t(messages.shop.greeting)',
    },
  },
  'zh-CN': { shop: { greeting: '你好，{{name}}', 'out-of-stock': '已售罄', items_other: '{{count}} 件', between: '' } },
})
const product = (...others: ReturnType<typeof withMessages>[]) =>
  defineProduct({ name: 'test', plugins: [i18nPlugin, ...others] })

async function translatorFor(test: Test, set: Record<string, string> = {}) {
  const running = await startForTest(product(shop), { set })
  test.teardown(() => running.stop('test ended'))
  return { running, translator: running.service(i18n) }
}

t.test('the locale is negotiated from the Accept-Language header', async (t) => {
  const { translator } = await translatorFor(t)
  const expected: readonly (readonly [string | undefined, string])[] = [
    [undefined, 'en'],
    ['', 'en'],
    ['zh', 'zh-CN'],
    ['zh-CN', 'zh-CN'],
    ['ZH-cn', 'zh-CN'],
    ['zh-Hans', 'zh-CN'],
    ['zh-Hans-CN', 'zh-CN'],
    ['en', 'en'],
    ['en-US', 'en'],
    ['en-GB,zh;q=0.5', 'en'],
    ['zh;q=0.9,en;q=0.8', 'zh-CN'],
    ['zh;q=0.1,en;q=0.8', 'en'],
    ['fr-FR,de;q=0.9,zh;q=0.1', 'zh-CN'],
    ['zh;q=0,fr', 'en'],
    ['fr', 'en'],
    ['*', 'en'],
    ['english', 'en'],
    [`${'fr,'.repeat(1000)}zh`, 'en'],
    ['$%&', 'en'],
  ]
  for (const [header, locale] of expected) t.equal(translator.negotiate(header), locale, JSON.stringify(header))
  t.same(translator.locales, ['en', 'zh-CN'])
  fc.assert(fc.property(fc.string(), (header) => translator.locales.includes(translator.negotiate(header))))
})

t.test(
  'K-017 texts fall back from the requested language to the site default and then to the original text',
  async (t) => {
    const { translator } = await translatorFor(t)
    t.equal(translator.translate('zh-CN', 'messages.shop.greeting', { name: '王' }), '你好，王')
    t.equal(translator.translate('zh-CN', 'messages.shop.onlyEnglish'), 'Only English', 'site default')
    t.equal(translator.translate('fr', 'messages.shop.out-of-stock'), 'Sold out', 'unknown locale')
    t.equal(translator.translate('zh-CN', 'messages.shop.absent'), undefined)
    t.equal(translator.translate('zh-CN', 'messages.shop.between'), '', 'an empty text is a text')
    t.equal(translator.resolve('zh-CN', 'messages.shop.between'), '')
    t.equal(translator.translate('en', 'messages.shop'), undefined, 'a branch is no text')
    for (const key of ['messages.__proto__', 'messages.constructor', 'toString']) {
      t.equal(translator.translate('en', key), undefined, key)
    }

    t.equal(translator.resolve('zh-CN', 'messages.shop.out-of-stock'), '已售罄')
    for (const tag of ['zh-Hans', 'zh_TW', 'ZH_hant_HK']) {
      t.equal(translator.resolve(tag, '{messages.shop.out-of-stock}'), '已售罄', tag)
    }
    for (const original of [
      'Plain text',
      '{messages.shop.absent}',
      'messages.shop.absent',
      '{messages.shop.greeting',
      '',
    ]) {
      t.equal(translator.resolve('zh-CN', original), original)
    }
  },
)

t.test('C-019 values are inserted into texts unchanged', async (t) => {
  const { translator } = await translatorFor(t)
  const greet = (name: string | number) => translator.translate('en', 'messages.shop.greeting', { name })
  for (const name of ['<b>&"', '$t(messages.shop.out-of-stock)', '{{name}}', '{{count}}', '$&', 7]) {
    t.equal(greet(name), `Hello ${name}`)
  }
  t.equal(translator.translate('en', 'messages.shop.greeting'), 'Hello {{name}}', 'a missing value shows')
  t.equal(translator.translate('en', 'messages.shop.nested'), 'See $t(messages.shop.greeting)')
  t.equal(translator.translate('en', 'messages.shop.items', { count: 1 }), '1 item')
  t.equal(translator.translate('en', 'messages.shop.items', { count: 3 }), '3 items')
  t.equal(translator.translate('zh-CN', 'messages.shop.items', { count: 1 }), '1 件')
})

t.test('texts that exist only in English are shown if the site default is Chinese', async (t) => {
  const { translator } = await translatorFor(t, { 'platform.i18n.default-locale': 'zh-CN' })
  t.equal(translator.translate('zh-CN', 'messages.shop.onlyEnglish'), 'Only English')
  t.equal(translator.translate('fr', 'messages.shop.onlyEnglish'), 'Only English')
  t.equal(translator.translate('zh-CN', 'messages.shop.out-of-stock'), '已售罄')
})

t.test('the site default is a live key', async (t) => {
  const { running, translator } = await translatorFor(t)
  const [texts] = await assertKeyEffect(t, 'platform.i18n.default-locale', {
    changed: 'zh-CN',
    async observe(values) {
      await applyLiveValues(running, values)
      const locales = ['fr', 'en'].map((language) => translator.negotiate(language))
      return [...locales, translator.translate('fr', 'messages.shop.out-of-stock')]
    },
  })
  assertMembers(t, texts, { before: ['en', 'en', 'Sold out'], after: ['zh-CN', 'en', '已售罄'] })
  await rejectsWith(t, translatorFor(t, { 'platform.i18n.default-locale': 'fr' }), { code: 'PLINTH_START_REFUSED' })
})

t.test('a message key of two plugins prevents the start, and the error lists both', async (t) => {
  type Tree = MessageCatalogues['en']
  const start = async (first: Tree, second: Tree) => {
    const alpha = withMessages('alpha', { en: first, 'zh-CN': {} })
    const beta = withMessages('beta', { en: second, 'zh-CN': {} })
    const running = await startForTest(product(alpha, beta))
    await running.stop('test ended')
  }
  const rejected = (message: RegExp) => ({
    code: 'PLINTH_START_FAILED',
    message,
    cause: { code: 'PLINTH_I18N_DUPLICATE_MESSAGE' },
  })
  const same = /"messages\.order\.paid" \(en\) of plugin "beta" clashes with plugin "alpha"/
  await rejectsWith(t, start({ order: { paid: 'A' } }, { order: { paid: 'B' } }), rejected(same))
  await rejectsWith(t, start({ order: 'A' }, { order: { paid: 'B' } }), rejected(/"messages\.order\.paid".*"alpha"/))
  await rejectsWith(t, start({ order: { paid: 'B' } }, { order: 'A' }), rejected(/"messages\.order".*"alpha"/))
  await t.resolves(start({ order: { paid: 'A' } }, { order: { closed: 'B' } }), 'siblings are fine')
})
