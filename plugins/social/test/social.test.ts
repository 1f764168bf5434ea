import t from 'tap'
import { outcomeOf, readResponse, templateValues } from '../src/wechat/messages.ts'

t.test('the values of a template obey the rules of their kinds', async (t) => {
  const of = (data: Record<string, string>) => templateValues(data)
  t.same(of({ thing1: '七'.repeat(20) }), { values: { thing1: { value: '七'.repeat(20) } } })
  t.same(
    of({ thing1: `${'😀'.repeat(20)}x` }),
    { values: { thing1: { value: `${'😀'.repeat(19)}…` } } },
    'cut between characters',
  )
  const good = {
    number2: '12345',
    letter3: 'abc',
    symbol4: '+-*/%',
    character_string5: 'A-1/b',
    amount6: '¥1234.50',
    phone_number7: '+86 138 0013 8000',
    car_number8: '粤A8Z888挂',
    name9: '张三',
    phrase10: '已发货',
    date11: '2026年1月1日',
    keyword12: 'free text of older templates '.repeat(4),
  }
  t.same(Object.keys((of(good) as { values: object }).values), Object.keys(good))
  for (const [name, value] of Object.entries({
    number2: '1'.repeat(33),
    letter3: 'a1',
    symbol4: '123456',
    character_string5: '中文',
    amount6: 'ten',
    phone_number7: 'x',
    car_number8: '123456789',
    name9: '一二三四五六七八九十一',
    phrase10: '六个汉字太长',
    thing1: '',
    date11: 'two\nlines',
  })) {
    t.same(of({ [name]: value }), { refused: name }, `${name}: ${value}`)
  }
})

t.test('responses of WeChat: ids beyond 2^53, codes with their outcome, and invalid responses', async (t) => {
  const accepted = outcomeOf(200, '{"errcode":0,"errmsg":"ok","msgid":9007199254740993123}')
  t.hasStrict(accepted, { outcome: 'accepted', messageId: '9007199254740993123', provider: 'wechat' })
  for (const [code, outcome, hint] of [
    [-1, 'deferred', 'busy'],
    [40003, 'rejected', 'recipient-refused'],
    [40164, 'rejected', 'permission-missing'],
    [43101, 'rejected', 'recipient-unsubscribed'],
    [45009, 'rejected', 'quota-used-up'],
    [45011, 'deferred', 'too-frequent'],
    [45015, 'rejected', 'window-closed'],
    [47003, 'rejected', 'data-refused'],
  ] as const) {
    const found = outcomeOf(200, `{"errcode":${code},"errmsg":"said rid: 1-2"}`)
    t.match(found, { outcome, hint: `messages.social.hints.${hint}`, providerCode: String(code) }, `${code}`)
  }
  t.hasStrict(outcomeOf(200, '{"errcode":99999}'), { outcome: 'rejected', errorCode: 'social.refused' })
  for (const body of ['', '<html>', '[]', '"ok"', '{"errcode":"0"}', '{"errcode":0']) {
    t.equal(readResponse(body), undefined, body)
    t.equal(outcomeOf(200, body).outcome, 'unknown', body)
  }
  t.equal(outcomeOf(503, '').outcome, 'deferred')
})
