import t, { type Test } from 'tap'
import { InboxApi } from '../src/api.ts'
import type { GetToken } from '../src/types.ts'

/** Replaces `fetch`. The handler returns the code and the data of a response. */
function useServer(t: Test, respond: (token: string, url: string) => readonly [string, unknown?] | Error) {
  const requests: { url: string; init: RequestInit }[] = []
  const original = globalThis.fetch
  t.teardown(() => {
    globalThis.fetch = original
  })
  globalThis.fetch = async (input, init = {}) => {
    requests.push({ url: String(input), init })
    const token = new Headers(init.headers).get('authorization') ?? ''
    const response = respond(token, String(input))
    if (response instanceof Error) throw response
    const [code, data = null] = response
    return new Response(JSON.stringify({ code, message: `message ${code}`, data }))
  }
  return requests
}

const apiWith = (getToken: GetToken | undefined) =>
  new InboxApi({ apiUrl: () => 'https://api.example/shop/', getToken: () => getToken, locale: () => 'zh-CN' })

t.test('a request has the token in its header only, without cookies, and times out', async (t) => {
  const [requests, api] = [useServer(t, () => ['200', 'data']), apiWith(() => 'secret')]
  t.equal(await api.call('GET', '/inbox', { query: { size: 20, category: undefined, unreadOnly: true } }), 'data')
  await api.call('PUT', '/inbox/read-all', { body: { before: 3 }, keepalive: true })
  const shown = requests.map(({ url, init: { signal, ...init } }) => ({
    url,
    ...init,
    isBounded: signal !== undefined,
  }))
  const headers = { authorization: 'Bearer secret', 'accept-language': 'zh-CN' }
  const common = { credentials: 'omit', isBounded: true }
  const path = 'https://api.example/shop/api/v1/notifications/inbox'
  t.same(shown, [
    { ...common, url: `${path}?size=20&unreadOnly=true`, method: 'GET', headers, keepalive: false },
    {
      ...common,
      url: `${path}/read-all`,
      method: 'PUT',
      headers: { ...headers, 'content-type': 'application/json' },
      keepalive: true,
      body: '{"before":3}',
    },
  ])
})

t.test('requests at the same time renew an expired token once, and each is repeated once', async (t) => {
  let asked = 0
  const api = apiWith(async () => ({ data: { token: `t${++asked}` } }))
  const requests = useServer(t, (token) => (token === 'Bearer t1' ? ['401'] : ['200', token]))
  const results = await Promise.all(Array.from({ length: 5 }, () => api.call('GET', '/inbox')))
  t.same({ asked, results, requests: requests.length }, { asked: 2, results: Array(5).fill('Bearer t2'), requests: 10 })
})

t.test('a token that was requested before `forget` is not used later', async (t) => {
  const answers = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  let asked = 0
  const api = apiWith(() => answers[asked++]?.promise ?? '')
  const before = api.token()
  api.forget()
  const after = api.token()
  answers[1]?.resolve('of ben')
  answers[0]?.resolve('of ann')
  await before
  t.same([await after, await api.token(), asked], ['of ben', 'of ben', 2])
})

t.test('each failure has its code', async (t) => {
  const codeOf = (getToken: GetToken | undefined) =>
    apiWith(getToken)
      .call('GET', '/inbox')
      .then(
        () => 'no error',
        ({ code }) => code,
      )
  const bad = [undefined, () => '', () => ({}) as never, () => Promise.reject(new Error('down'))]
  const codes = await Promise.all(bad.map((getToken) => codeOf(getToken)))
  for (const response of [['401'], ['403'], ['503'], new TypeError('no network')] as const) {
    useServer(t, () => response)
    codes.push(await codeOf(() => ({ token: 'same' })))
  }
  t.same(codes, ['token', 'token', 'token', 'token', '401', '403', '503', 'network'])
})
