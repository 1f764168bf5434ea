import { isIP } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { Type } from 'typebox'
import { type ClientIpRules, clientHeaders, createCallerAddressResolver } from '../src/caller/client-ip.ts'
import { keys } from '../src/config.ts'
import { AddressSet, addressNetwork, normalizeAddress } from '../src/index.ts'
import { bodyOf, exchangeRawHttp, startHttp } from './start-http.ts'

const trustedProxies = keys['platform.rate-limit.annotation.client-ip.trusted-proxies'].default as readonly string[]
const rules: ClientIpRules = { trustedProxies, trustForwardedHeaders: true, headers: clientHeaders, ipv6Prefix: 64 }
const resolverWith = (changed: Partial<ClientIpRules>) => createCallerAddressResolver({ ...rules, ...changed }).client
const resolve = resolverWith({})
const resolveForwarded = (chain: string, peer = '127.0.0.1') => resolve(peer, { 'x-forwarded-for': chain })

t.test(
  'R-052 R-053 R-026 proxy headers count only from a trusted peer, X-Forwarded-For from right to left',
  async (t) => {
    t.equal(resolveForwarded('1.2.3.4', '203.0.113.9'), '203.0.113.9', 'untrusted peer')
    t.equal(resolve('203.0.113.9', { 'x-real-ip': '1.2.3.4', 'cf-connecting-ip': '1.2.3.4' }), '203.0.113.9')
    t.equal(resolveForwarded('9.9.9.9, 1.2.3.4, 10.0.0.1'), '1.2.3.4')
    t.equal(resolveForwarded('10.0.0.3, 10.0.0.2,10.0.0.1'), '10.0.0.3', 'all trusted: the left-most')
    t.equal(resolveForwarded('1.2.3.4'), '1.2.3.4')
    const closed = resolverWith({ trustForwardedHeaders: false })
    t.equal(closed('127.0.0.1', { 'x-forwarded-for': '1.2.3.4', 'x-real-ip': '1.2.3.4' }), '127.0.0.1')
    const narrow = resolverWith({ trustedProxies: ['198.51.100.7'] })
    t.equal(narrow('127.0.0.1', { 'x-forwarded-for': '1.2.3.4' }), '127.0.0.1', 'a configured list narrows')
    t.equal(narrow('198.51.100.7', { 'x-forwarded-for': '1.2.3.4, 10.0.0.1' }), '10.0.0.1')
  },
)

t.test('I-026 one client has one address, in every notation', async (t) => {
  t.equal(resolveForwarded('1.2.3.4', '::ffff:127.0.0.1'), '1.2.3.4', 'mapped peer is trusted')
  for (const spelling of [
    '1.2.3.4',
    '1.2.3.4:5555',
    '::ffff:1.2.3.4',
    '::ffff:0102:0304',
    '[::ffff:1.2.3.4]:80',
    ' 1.2.3.4 ',
  ]) {
    t.equal(resolveForwarded(spelling), '1.2.3.4', spelling)
  }
  for (const spelling of [
    '2001:db8::1',
    '[2001:db8::1]:443',
    '[2001:db8::1]',
    '2001:DB8:0::1',
    '"[2001:db8::1]:443"',
    '2001:db8::1%eth0',
  ]) {
    t.equal(resolveForwarded(spelling), '2001:db8::1', spelling)
  }
  t.equal(resolve('::ffff:1.2.3.4', {}), '1.2.3.4')
  t.equal(resolve('fe80::1%eth0', { 'x-forwarded-for': '1.2.3.4' }), '1.2.3.4', 'link-local proxy with a zone')
})

t.test('R-055 a text that is not an address never becomes the client address', async (t) => {
  t.equal(resolveForwarded('1.2.3.4, garbage, 10.0.0.1'), '10.0.0.1', 'the last address that a proxy vouched for')
  t.equal(resolveForwarded('1.2.3.4, garbage'), '127.0.0.1')
  for (const chain of ['', ',', ' , ,']) t.equal(resolveForwarded(chain), '127.0.0.1', JSON.stringify(chain))
  t.equal(
    resolve('127.0.0.1', { 'x-forwarded-for': ' ,', 'x-real-ip': '1.2.3.4' }),
    '1.2.3.4',
    'an empty chain is none',
  )
  for (const lenient of [
    '127.1',
    '0x7f.1',
    '2130706433',
    '010.0.0.1',
    '1.2.3',
    '256.1.1.1',
    '1.2.3.4:',
    '1.2.3.4:999999',
    'localhost',
  ]) {
    t.equal(resolveForwarded(lenient), '127.0.0.1', lenient)
    t.equal(normalizeAddress(lenient), undefined, lenient)
  }
  t.equal(resolveForwarded(['1.2.3.4', ...Array(10).fill('10.0.0.1')].join(',')), '10.0.0.1', 'no chain is that long')
  t.equal(resolveForwarded(['1.2.3.4', ...Array(9).fill('10.0.0.1')].join(',')), '1.2.3.4')
  t.equal(resolve(undefined, {}), '0.0.0.0', 'a connection that is gone')
})

t.test('without X-Forwarded-For the headers with a single address are used, CF-Connecting-IP first', async (t) => {
  t.equal(resolve('127.0.0.1', { 'x-real-ip': '1.1.1.1', 'cf-connecting-ip': '2.2.2.2' }), '2.2.2.2')
  t.equal(resolve('127.0.0.1', { 'x-real-ip': '1.1.1.1', 'cf-connecting-ip': 'junk' }), '1.1.1.1')
  t.equal(resolve('127.0.0.1', { 'x-real-ip': '1.1.1.1, 2.2.2.2' }), '127.0.0.1', 'two addresses are not one')
  t.equal(resolve('127.0.0.1', { 'x-forwarded-for': '3.3.3.3', 'x-real-ip': '1.1.1.1' }), '3.3.3.3')
})

t.test('R-052 only the listed headers supply the client address, in the order of the list', async (t) => {
  const all = { 'x-forwarded-for': '1.1.1.1', 'cf-connecting-ip': '2.2.2.2', 'x-real-ip': '3.3.3.3' }
  const cases: [ClientIpRules['headers'], string][] = [
    [[], '127.0.0.1'],
    [['X-Forwarded-For'], '1.1.1.1'],
    [['CF-Connecting-IP'], '2.2.2.2'],
    [['X-Real-IP'], '3.3.3.3'],
    [['X-Real-IP', 'X-Forwarded-For'], '3.3.3.3'],
  ]
  for (const [headers, client] of cases) t.equal(resolverWith({ headers })('127.0.0.1', all), client, headers.join())
  const forged = { 'cf-connecting-ip': '2.2.2.2', 'x-real-ip': '3.3.3.3' }
  const chainAlone = resolverWith({ headers: ['X-Forwarded-For'] })
  t.equal(chainAlone('127.0.0.1', forged), '127.0.0.1', 'what the proxy does not set is not read')
  t.equal(chainAlone('127.0.0.1', { ...forged, 'x-forwarded-for': 'junk' }), '127.0.0.1')
  await t.rejects(
    startHttp(t, undefined, { set: { 'platform.rate-limit.annotation.client-ip.headers': '["X-Forwarded-Fro"]' } }),
    /client-ip\.headers/,
    'a misspelt header stops the start',
  )
})

t.test('R-102 all notations of an address become the same text', async (t) => {
  const cases: [string, number, string][] = [
    ['2001:db8:1:2:3:4:5:6', 64, '2001:db8:1:2:0:0:0:0/64'],
    ['2001:db8:1:2:3:4:5:6', 56, '2001:db8:1:0:0:0:0:0/56'],
    ['2001:DB8:1:2ff:3:4:5:6', 60, '2001:db8:1:2f0:0:0:0:0/60'],
    ['::1', 64, '0:0:0:0:0:0:0:0/64'],
    ['::', 127, '0:0:0:0:0:0:0:0/127'],
    ['fe80::1%eth0', 64, 'fe80:0:0:0:0:0:0:0/64'],
    ['fe80::1%eth0', 128, 'fe80::1'],
    ['1::', 48, '1:0:0:0:0:0:0:0/48'],
    ['::1.2.3.4', 112, '0:0:0:0:0:0:102:0/112'],
    ['2001:db8::1', 0, '0:0:0:0:0:0:0:0/0'],
    ['1.2.3.4', 64, '1.2.3.4'],
    ['::ffff:1.2.3.4', 64, '1.2.3.4'],
    ['::FFFF:0102:0304%1', 64, '1.2.3.4'],
    ['', 64, ''],
    ['cli:1', 64, 'cli:1'],
  ]
  for (const [address, prefix, network] of cases) t.equal(addressNetwork(address, prefix), network, address)
  fc.assert(
    fc.property(fc.ipV6(), fc.ipV6(), fc.nat(128), (one, other, prefix) => {
      const [a, b] = [naiveBits(one), naiveBits(other)]
      if (isMapped(a) || isMapped(b)) return true
      const shift = BigInt(128 - prefix)
      return (addressNetwork(one, prefix) === addressNetwork(other, prefix)) === (a >> shift === b >> shift)
    }),
  )
  fc.assert(fc.property(fc.string(), fc.nat(128), (text, prefix) => typeof addressNetwork(text, prefix) === 'string'))
})

t.test('R-053 header lines reach the resolver in order', async (t) => {
  const { port, server } = await startHttp(t, (http) => {
    http.route({
      method: 'GET',
      path: '/api/v1/shop/ip',
      summary: 'Own address',
      access: 'public',
      response: Type.Object({ ip: Type.String(), peer: Type.String() }),
      handler: ({ clientIp, peerIp }) => ({ ip: clientIp, peer: peerIp }),
    })
  })
  const ipWith = async (...lines: string[]) => {
    const head = ['GET /api/v1/shop/ip HTTP/1.1', 'Host: x', 'Connection: close', ...lines]
    const { ip, peer } = bodyOf(await exchangeRawHttp(port(), `${head.join('\r\n')}\r\n\r\n`)).data
    t.equal(peer, '127.0.0.1', 'the other end of the connection, whatever headers say')
    return ip
  }
  t.equal(await ipWith(), '127.0.0.1')
  t.equal(
    await ipWith('X-Forwarded-For: 9.9.9.9', 'X-Forwarded-For: 1.2.3.4'),
    '1.2.3.4',
    'the line that the proxy added',
  )
  t.equal(await ipWith('x-forwarded-for: 9.9.9.9, 1.2.3.4', 'X-FORWARDED-FOR: 10.0.0.1'), '1.2.3.4')
  t.equal(await ipWith('X-Real-IP: 1.1.1.1', 'X-Real-IP: 2.2.2.2'), '127.0.0.1')
  t.equal(await ipWith('X-Forwarded-For: \xff\xfe'), '127.0.0.1')
  t.same(server.clientIpRules, rules)

  const closed = await startHttp(t, undefined, {
    set: {
      'platform.rate-limit.annotation.client-ip.trust-forwarded-headers': 'false',
      'platform.rate-limit.annotation.client-ip.trusted-proxies': '["10.0.0.0/8"]',
      'platform.rate-limit.annotation.client-ip.headers': '["CF-Connecting-IP"]',
      'platform.rate-limit.annotation.client-ip.ipv6-prefix': '56',
    },
  })
  t.same(closed.server.clientIpRules, {
    trustedProxies: ['10.0.0.0/8'],
    trustForwardedHeaders: false,
    headers: ['CF-Connecting-IP'],
    ipv6Prefix: 56,
  })
  t.equal(closed.server.networkOf('2001:db8:1:2ff::1'), '2001:db8:1:200:0:0:0:0/56')
})

t.test('R-052 R-053 R-055 the resolver agrees with a naive model', async () => {
  const inSet = (address: string) => trustedProxies.some((range) => naiveContains(range, address))
  const naive = (peer: string, chain: string): bigint => {
    let client = peer
    if (inSet(peer)) {
      const hops = chain
        .split(',')
        .map((hop) => hop.trim())
        .filter((hop) => hop !== '')
      for (const hop of hops.reverse().slice(0, 10)) {
        const address = naiveHop(hop)
        if (address === undefined) break
        client = address
        if (!inSet(address)) break
      }
    }
    return naiveBits(client)
  }
  const proxy = fc.constantFrom(
    '10.1.2.3',
    '127.0.0.1',
    '::1',
    'fe80::9',
    'fd00::1',
    '192.168.1.1',
    '::ffff:172.16.0.1',
    '169.254.0.1',
  )
  const address = fc.oneof(proxy, fc.ipV4(), fc.ipV6())
  const hop = fc.oneof(
    { weight: 6, arbitrary: address },
    {
      weight: 2,
      arbitrary: fc
        .tuple(address, fc.nat(65_535))
        .map(([ip, port]) => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`)),
    },
    { weight: 1, arbitrary: fc.string({ maxLength: 12 }) },
    { weight: 1, arbitrary: fc.constantFrom('', ' ', 'unknown', '_hidden', '1.2.3', '::', ':::', '[', ']') },
  )
  fc.assert(
    fc.property(address, fc.array(hop, { maxLength: 14 }), (peer, hops) => {
      const chain = hops.join(', ')
      const client = resolveForwarded(chain, peer)
      if (chain.split(',').every((part) => part.trim() === '')) return client === normalizeAddress(peer)
      return isIP(client) !== 0 && normalizeAddress(client) === client && naiveBits(client) === naive(peer, chain)
    }),
    { numRuns: 2000 },
  )
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string(), (peer, chain, real) => {
      return isIP(resolve(peer, { 'x-forwarded-for': chain, 'x-real-ip': real })) !== 0
    }),
  )
})

t.test('address sets contain addresses and ranges of both families', async (t) => {
  const has = (range: string, address: string) => new AddressSet([range]).has(address)
  t.ok(has('10.0.0.5/8', '10.255.0.1'), 'host bits do not matter')
  t.notOk(has('10.0.0.0/8', '11.0.0.0'))
  t.ok(has('0.0.0.0/0', '203.0.113.9'))
  t.ok(has('203.0.113.9', '203.0.113.9'))
  t.notOk(has('203.0.113.9', '203.0.113.8'))
  t.ok(has('::ffff:10.0.0.0/104', '10.9.9.9'), 'a mapped range is an IPv4 range')
  t.notOk(has('::/0', '10.0.0.1'), 'an IPv6 range holds no IPv4')
  t.ok(has('2001:db8::/32', '2001:db8:ffff::1'))
  for (const wrong of [
    '10/8',
    '10.0.0.0/33',
    '::1/129',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    'x',
    '',
    '10.0.0.0/',
    '::ffff:10.0.0.0/95',
  ]) {
    t.throws(() => new AddressSet([wrong]), RangeError, wrong)
  }
  const range = fc.oneof(
    fc.tuple(fc.ipV4(), fc.nat(32)).map(([ip, bits]) => `${ip}/${bits}`),
    fc
      .tuple(fc.ipV6(), fc.nat(128))
      .map(([ip, bits]) => `${ip}/${bits}`)
      .filter((text) => !isMapped(naiveBits(text.split('/')[0] as string))),
  )
  fc.assert(
    fc.property(range, fc.oneof(fc.ipV4(), fc.ipV6()), (text, address) => {
      const normalized = normalizeAddress(address) as string
      return (
        has(text, normalized) === naiveContains(text, normalized) &&
        has(text, normalizeAddress(text.split('/')[0] as string) as string)
      )
    }),
    { numRuns: 1000 },
  )
})

/**
 * Returns the 128 bits of an address. IPv4 addresses are mapped to IPv6. The function uses the URL parser, which shares
 * no code with the product.
 */
function naiveBits(address: string): bigint {
  const bare = address.split('%')[0] as string
  if (isIP(bare) === 4)
    return (0xffffn << 32n) | bare.split('.').reduce((bits, octet) => (bits << 8n) | BigInt(octet), 0n)
  const [left = '', right] = new URL(`http://[${bare}]/`).hostname.slice(1, -1).split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const tail = right === undefined ? [] : groups(right)
  const zeros = Array(8 - groups(left).length - tail.length).fill('0')
  return [...groups(left), ...zeros, ...tail].reduce((bits, group) => (bits << 16n) | BigInt(`0x${group}`), 0n)
}

function naiveContains(range: string, address: string): boolean {
  const [network = '', length] = range.split('/')
  const isV4 = isIP(network) === 4
  const shift = 128n - BigInt(length ?? (isV4 ? 32 : 128)) - (isV4 ? 96n : 0n)
  const bits = naiveBits(address)
  return isV4 === isMapped(bits) && bits >> shift === naiveBits(network) >> shift
}

const isMapped = (bits: bigint) => bits >> 32n === 0xffffn

function naiveHop(hop: string): string | undefined {
  const inBrackets = /^\[(.*)\](:\d{1,5})?$/.exec(hop)?.[1]
  const candidates = [
    hop,
    inBrackets,
    isIP(hop.split(':')[0] ?? '') === 4 && /^[\d.]+:\d{1,5}$/.test(hop) ? hop.split(':')[0] : undefined,
  ]
  return candidates.find((text) => text !== undefined && isIP(text) !== 0)
}
