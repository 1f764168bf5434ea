/** Compares the encryption with the examples of the standards. */
import { createPublicKey, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { jwtVerify } from 'jose'
import t from 'tap'
import { fitPayload } from '../src/push-text.ts'
import { encodeRecord, encryptMessage, maxPlaintextBytes } from '../src/web-push/encryption.ts'
import { createBrowser } from './fixtures/push-service.ts'

const bytes = (text: string) => Buffer.from(text, 'base64url')

t.test('RFC 8188, section 3.1: the example is equal', async (t) => {
  const encoded = encodeRecord(Buffer.from('I am the walrus'), {
    ikm: bytes('yqdlZ-tYemfogSmv7Ws5PQ'),
    salt: bytes('I1BsxtFttlv3u_Oo94xnmw'),
    keyId: Buffer.alloc(0),
  })
  t.equal(encoded.toString('base64url'), 'I1BsxtFttlv3u_Oo94xnmwAAEAAA-NAVub2qFgBEuQKRapoZu-IxkIva3MEB1PD-ly8Thjg')
})

t.test('RFC 8291, section 5: the example is equal', async (t) => {
  const body = encryptMessage(
    Buffer.from('When I grow up, I want to be a watermelon'),
    {
      p256dh: bytes('BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4'),
      auth: bytes('BTBZMqHH6r4Tts7J_aSIgg'),
    },
    { salt: bytes('DGv6ra1nlYgDCS1FRnbzlw'), privateKey: bytes('yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw') },
  )
  t.equal(
    body.toString('base64url'),
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
  )
})

t.test('RFC 8292, section 2.4: the example is valid with the key that it contains', async (t) => {
  const jwt =
    'eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA'
  const point = bytes('BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs')
  const [x, y] = [point.subarray(1, 33).toString('base64url'), point.subarray(33).toString('base64url')]
  const key = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' })
  const options = { audience: 'https://push.example.net', currentDate: new Date(1_453_500_000_000) }
  const { payload } = await jwtVerify(jwt, key, options)
  t.same(payload, { aud: 'https://push.example.net', exp: 1_453_523_768, sub: 'mailto:push@example.com' })
})

t.test('a message of 3,993 bytes becomes a body of 4,096 bytes; a longer one is rejected', async (t) => {
  const browser = createBrowser('sizes')
  const keys = { p256dh: bytes(browser.keys.p256dh), auth: bytes(browser.keys.auth) }
  const longest = randomBytes(3_993)
  const body = encryptMessage(longest, keys)
  t.equal(body.length, 4_096)
  t.same(browser.decrypt(body), longest)
  t.same(browser.decrypt(encryptMessage(Buffer.alloc(0), keys)), Buffer.alloc(0))
  t.throws(() => encryptMessage(randomBytes(3_994), keys), RangeError)
  t.throws(() => encryptMessage(longest, { ...keys, p256dh: Buffer.alloc(65, 4) }), 'a point that is not on the curve')
})

t.test('a body is cut between graphemes, and only as much as needed', async (t) => {
  const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  const startsOf = (text: string) => Array.from(graphemes.segment(text), ({ index }) => index)
  const payload = (title: string) => (body: string) => ({ title, body })
  const size = (value: object) => Buffer.byteLength(JSON.stringify(value))
  const unit = fc.constantFrom('a', '"', '\n', '中', '👩‍👩‍👧', 'e\u0301', '🇨🇳', '\u0001')
  const body = fc.array(unit, { maxLength: 400 }).map((units) => units.join(''))
  fc.assert(
    fc.property(body, fc.integer({ min: 20, max: 900 }), (text, max) => {
      const toPayload = payload('t')
      const found = fitPayload(text, max, toPayload)
      if (found === undefined) return size(toPayload('')) > max
      if (size(found) > max) return false
      if (found.body === text) return true
      const kept = found.body.replace(/…$/, '')
      const starts = startsOf(text)
      const next = starts.find((index) => index > kept.length)
      const isLongest = next === undefined || size(toPayload(`${text.slice(0, next)}…`)) > max
      return text.startsWith(kept) && starts.includes(kept.length) && isLongest && size(toPayload(text)) > max
    }),
  )
  const rest = maxPlaintextBytes - size(payload('')(''))
  t.equal(fitPayload('', maxPlaintextBytes, payload('x'.repeat(rest)))?.title.length, rest)
  t.equal(fitPayload('', maxPlaintextBytes, payload('x'.repeat(rest + 1))), undefined)
})
