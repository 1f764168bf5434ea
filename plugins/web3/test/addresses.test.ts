import { once } from 'node:events'
import { createServer } from 'node:http'
import net from 'node:net'
import { isBusinessError } from '@plinth/kernel'
import { isAddressShaped, toChecksumAddress, web3Addresses } from '@plinth/web3'
import fc from 'fast-check'
import t from 'tap'
import * as viem from 'viem'
import { vectors } from './fixtures/vectors.ts'

const addressBytes = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => viem.toHex(bytes))

t.test('W-003 W-004 W-005 W-006 W-007 every address vector', async (t) => {
  t.ok(vectors.addresses.length >= 26)
  for (const { input, class: kind, expected } of vectors.addresses) {
    t.test(`${kind}: ${JSON.stringify(input)}`, async (t) => {
      t.equal(web3Addresses.isAddress(input), expected.isAddress)
      t.equal(web3Addresses.normalize(input), expected.normalize)
      t.equal(web3Addresses.toChecksumAddress(input), expected.toChecksumAddress)
      if (expected.normalize === null) {
        try {
          web3Addresses.require(input)
          t.fail('an invalid address must be refused')
        } catch (error) {
          if (!isBusinessError(error)) throw error
          t.strictSame([error.code, error.reason, error.data], ['400', 'web3.address-invalid', { field: 'address' }])
        }
      } else t.equal(web3Addresses.require(input), expected.normalize)
    })
  }
})

t.test('W-009 of the 2^n ways to write an address in mixed case only the checksum is correct', async (t) => {
  fc.assert(
    fc.property(addressBytes, fc.nat(), (address, at) => {
      const right = viem.checksumAddress(address)
      t.equal(toChecksumAddress(address), right)
      t.equal(web3Addresses.normalize(right), address)
      const letters = [...right].flatMap((one, index) => (index > 1 && /[a-f]/i.test(one) ? [index] : []))
      const flipped = letters[at % Math.max(letters.length, 1)]
      if (flipped === undefined) return
      const one = right.charAt(flipped)
      const swapped = one === one.toLowerCase() ? one.toUpperCase() : one.toLowerCase()
      const wrong = right.slice(0, flipped) + swapped + right.slice(flipped + 1)
      const isOneCase = wrong === wrong.toLowerCase() || wrong.slice(2) === wrong.slice(2).toUpperCase()
      t.equal(web3Addresses.isAddress(wrong), isOneCase, wrong)
    }),
  )
})

t.test('W-008 the helpers accept any text, need no key and open no connection', async (t) => {
  const { connect } = net.Socket.prototype
  let connections = 0
  net.Socket.prototype.connect = function (this: net.Socket, ...words: never[]) {
    connections += 1
    return Reflect.apply(connect, this, words)
  }
  t.teardown(() => {
    net.Socket.prototype.connect = connect
  })
  net.connect(1, '127.0.0.1').on('error', () => {})
  t.equal(connections, 1, 'a connection is counted')
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' }), addressBytes), (text) => {
      const address = web3Addresses.normalize(text)
      t.equal(web3Addresses.isAddress(text), address !== null)
      t.equal(web3Addresses.toChecksumAddress(text) === null, address === null)
      if (address !== null) t.match(address, /^0x[0-9a-f]{40}$/)
    }),
  )
  // Makes a request and waits for it. If a helper sent requests in the background, they would connect before this one.
  const server = createServer((_, response) => response.end()).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  await fetch(`http://127.0.0.1:${port}`)
  t.equal(connections, 2)
})

t.test('W-021 a name that looks like an address is an address in any case, also with a wrong checksum', async (t) => {
  const address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
  for (const text of [address, address.toLowerCase(), address.toUpperCase(), `0x5aaeb${address.slice(7)}`])
    t.ok(isAddressShaped(text), text)
  for (const text of ['', 'anna', address.slice(0, -1), `${address}0`, ` ${address}`, address.replace('a', 'g')])
    t.notOk(isAddressShaped(text), text)
})
