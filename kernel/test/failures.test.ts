import { BusinessError, defineBusinessErrors, errorTable, isBusinessError, isPlinthError } from '@plinth/kernel'
import t from 'tap'

const texts = { gone: 'The order {{order}} is gone.', entry: { closed: 'Closed.', network: 'Closed to {{network}}.' } }
const businessError = defineBusinessErrors('shop', texts, { gone: '404', closed: '403' })

t.test('a business failure has the code, the reason and the text of its declaration', async (t) => {
  t.match(businessError('gone', { params: { order: 'A1' }, data: { order: 'A1' } }), {
    code: /^404$/,
    message: 'The order A1 is gone.',
    reason: /^shop\.gone$/,
    messageKey: 'messages.shop.gone',
    params: { order: 'A1' },
    data: { order: 'A1' },
  })
  const cause = new Error('x')
  t.match(businessError('closed', { text: 'entry.network', params: { network: '10/8' }, cause }), {
    code: /^403$/,
    message: 'Closed to 10/8.',
    reason: /^shop\.closed$/,
    messageKey: 'messages.shop.entry.network',
    cause,
  })
  // @ts-expect-error no such failure
  t.equal(businessError('paid').code, '500')
  // @ts-expect-error "closed" is the name of no text: one has to be chosen
  t.equal(businessError('closed').code, '403')
  // @ts-expect-error no such text
  businessError('closed', { text: 'entry.none' })
})

t.test('an error of a table contains its parameters and whether a retry may succeed', async (t) => {
  const shopError = errorTable(
    {
      PLINTH_SHOP_CLOSED: `The shop "{{shop}}" is closed.
        Open {{shop}}.`,
      PLINTH_SHOP_BUSY: `Try later.
        Wait.`,
      PLINTH_SHOP_FAILED: `The shop failed: {{reason}}.
        Correct {{place}}.`,
    },
    { unavailable: ['PLINTH_SHOP_BUSY'] },
  )
  const cause = new Error('x')
  const error = shopError('PLINTH_SHOP_CLOSED', { shop: 'tea' }, cause)
  t.match(error, { code: /^PLINTH_SHOP_CLOSED$/, message: 'The shop "tea" is closed.', fix: 'Open tea.', cause })
  t.notOk(Object.hasOwn(error, 'unavailable'))
  t.match(shopError('PLINTH_SHOP_BUSY', undefined, cause), { unavailable: true, cause })
  t.strictSame(shopError.table.PLINTH_SHOP_BUSY, { text: 'Try later.', fix: 'Wait.' })
  const failed = (reason: string) => shopError('PLINTH_SHOP_FAILED', { reason, place: reason })
  for (const reason of ['pool is closed', 'pool is closed.']) {
    t.match(failed(reason), { message: /^The shop failed: pool is closed\.$/, fix: /^Correct pool is closed\.$/ })
  }
  t.equal(failed('read on ...').message, 'The shop failed: read on ....')
  // @ts-expect-error the detail is missing
  t.equal(shopError('PLINTH_SHOP_CLOSED').message, 'The shop "{{shop}}" is closed.')
  // @ts-expect-error the detail has another name
  shopError('PLINTH_SHOP_CLOSED', { name: 'tea' })
})

t.test('failures of another copy of the kernel are recognised', async (t) => {
  const copy = '?copy=failures'
  const second: typeof import('../src/errors/business-error.ts') = await import(
    `../src/errors/business-error.ts${copy}`
  )
  const other = new second.BusinessError('409', 'x')
  t.notOk(other instanceof BusinessError)
  t.ok(isBusinessError(other))
  const coded: typeof import('../src/errors/coded-error.ts') = await import(`../src/errors/coded-error.ts${copy}`)
  t.ok(isPlinthError(new coded.PlinthError('A', 'b', 'c')))
  for (const none of [undefined, 'x', new Error('x'), { name: 'BusinessError', code: '409' }]) {
    t.notOk(isBusinessError(none))
  }
  t.notOk(isBusinessError(Object.assign(new Error('x'), { name: 'BusinessError' })), 'without a code')
})
