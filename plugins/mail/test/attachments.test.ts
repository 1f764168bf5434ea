/** Tests files in mails: their bytes, their limits, and files that fail while they are read. */
import { createHash, generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { assertKeyEffect, type KeyValues, manualClock, startForTest, until } from '@plinth/dev/testing'
import http from '@plinth/http'
import i18n from '@plinth/i18n'
import { definePlugin, defineProduct } from '@plinth/kernel'
import storagePlugin, { type Disk, storage, storageDisk } from '@plinth/storage'
import t, { type Test } from 'tap'
import { safeName } from '../src/attachments.ts'
import mailPlugin, { type MailAttachment, mail } from '../src/index.ts'
import { leavesOf, startMailServer } from './fixtures/mail-server.ts'

const mib = 1024 * 1024
setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** A disk whose files have a size, and whose content behaves as the test defines. */
function faultyDisk(contents: Readonly<Record<string, () => AsyncIterable<Buffer>>>, size: number): Disk {
  const stat = async (path: string) => (path in contents ? { path, size, modifiedAt: new Date(0) } : undefined)
  return {
    visibility: 'private',
    stat,
    open: async (path) => {
      const found = await stat(path)
      return found && { ...found, content: Readable.from(contents[path]?.() ?? []) }
    },
    write: async () => {},
    delete: async () => false,
    async *list() {},
    verify: async () => {},
  }
}

async function start(t: Test, config: KeyValues = {}, disk?: Disk) {
  const clock = manualClock()
  const disks = definePlugin({
    id: 'disks',
    version: '1.0.0',
    kernel: '^1.0.0',
    contributes: [storageDisk],
    setup: ({ contribute }) => (disk === undefined ? undefined : contribute(storageDisk, 'faulty', disk)),
  })
  const server = await startMailServer(t)
  const directory = t.testdir()
  const product = defineProduct({
    name: 'mails',
    plugins: [http, i18n, storagePlugin, disks, mailPlugin],
    config: { 'platform.http.port': 0, 'platform.storage.root': directory, ...server.config, ...config },
  })
  const running = await startForTest(product, { clock })
  t.teardown(() => running.stop('test ended'))
  const files = running.service(storage)
  const put = async (path: string, content: Buffer, more: Partial<MailAttachment> = {}): Promise<MailAttachment> => {
    await files.put(files.localDisk, path, content)
    return { name: path, disk: files.localDisk, path, ...more }
  }
  const send = async (attachments: readonly MailAttachment[], more: object = {}) => {
    const message = { to: ['ada@example.com'], subject: 'Files', text: 'See the files', attachments, ...more }
    const { deliveries } = await running.service(mail).send(message, { idempotencyKey: randomUUID() })
    const [{ outcome = '', errorCode = '', errorMessage = '' } = {}] = deliveries
    return { outcome, errorCode, errorMessage }
  }
  return { server, clock, put, send, files, directory }
}

t.test('files and inline pictures arrive byte by byte, with their names', async (t) => {
  const { server, put, send } = await start(t)
  const [picture, report] = [randomBytes(70_001), randomBytes(1_234)]
  const inline = await put('logo.png', picture, { contentId: 'logo' })
  const file = await put('r', report, { name: '../Résumé 报告 "1"\r\nBcc: x.pdf', contentType: 'application/pdf' })
  const empty = await put('empty.txt', Buffer.alloc(0))
  const sent = await send([inline, file, empty], { html: '<img src="cid:logo">' })
  t.same(sent, { outcome: 'accepted', errorCode: '', errorMessage: '' })
  const [{ raw = '', headers = {} } = {}] = server.received
  t.notOk('bcc' in headers)
  t.same(
    leavesOf(raw).map(({ type, disposition, filename, contentId, body }) => ({
      type,
      disposition,
      filename,
      contentId,
      body,
    })),
    [
      {
        type: 'text/plain',
        disposition: '',
        filename: undefined,
        contentId: undefined,
        body: Buffer.from('See the files'),
      },
      {
        type: 'text/html',
        disposition: '',
        filename: undefined,
        contentId: undefined,
        body: Buffer.from('<img src="cid:logo">'),
      },
      { type: 'image/png', disposition: 'inline', filename: 'logo.png', contentId: '<logo>', body: picture },
      {
        type: 'application/pdf',
        disposition: 'attachment',
        filename: 'Résumé 报告 "1" Bcc: x.pdf',
        contentId: undefined,
        body: report,
      },
      {
        type: 'text/plain',
        disposition: 'attachment',
        filename: 'empty.txt',
        contentId: undefined,
        body: Buffer.alloc(0),
      },
    ],
  )
})

t.test('names have no path, no control characters and no direction marks', (t) => {
  const names = ['/etc/passwd', 'C:\\x\\y.doc', 'a\u202egpj.exe', '..', '', '.hidden', 'a\u0000b', 'ü'.repeat(300)]
  t.same(names.map(safeName), [
    'passwd',
    'y.doc',
    'a gpj.exe',
    'attachment',
    'attachment',
    'hidden',
    'a b',
    'ü'.repeat(200),
  ])
  t.end()
})

t.test('a mail with a file that breaks a rule is rejected before anything is sent', async (t) => {
  const { server, put, send } = await start(t, {
    'platform.mail.attachments.max-count': 2,
    'platform.mail.attachments.max-size': '1KiB',
    'platform.mail.attachments.max-total-size': '1500B',
  })
  const small = await put('small.txt', Buffer.alloc(1_000))
  const cases: Record<string, readonly MailAttachment[]> = {
    'too many': [small, small, small],
    'too large': [await put('large.txt', Buffer.alloc(1_025))],
    'together too large': [small, await put('other.txt', Buffer.alloc(501))],
    'refused ending': [{ ...small, name: 'Setup.EXE' }],
    'refused type': [{ ...small, contentType: 'Text/HTML; charset=utf-8' }],
    missing: [{ ...small, path: 'none.txt' }],
    'unknown disk': [{ ...small, disk: 'none' }],
    'bad path': [{ ...small, path: '../x' }],
    'bad type': [{ ...small, contentType: 'text/plain\r\nX: y' }],
    'bad content id': [{ ...small, contentId: 'a"b' }],
    'same content id': [
      { ...small, contentId: 'a' },
      { ...small, contentId: 'a', path: 'other.txt' },
    ],
    'no place': [{ name: 'link.txt' } as unknown as MailAttachment],
  }
  const results: Record<string, string> = {}
  for (const [name, attachments] of Object.entries(cases)) {
    const { outcome, errorCode, errorMessage } = await send(attachments)
    results[name] = `${outcome} ${errorCode}: ${errorMessage}`
  }
  t.same(results, {
    'too many': 'rejected mail.attachment-too-many: The mail has 3 files; the limit is 2',
    'too large': 'rejected mail.attachment-too-large: "large.txt" has 1025 bytes; the limit is 1024',
    'together too large':
      'rejected mail.attachment-too-large: The files have 1501 bytes; the limit is 1500: small.txt, other.txt',
    'refused ending': 'rejected mail.attachment-refused: "Setup.EXE" is not sent: files of the kind .exe are refused',
    'refused type':
      'rejected mail.attachment-refused: "small.txt" is not sent: files of the kind text/html are refused',
    missing: 'rejected mail.attachment-missing: "small.txt" does not exist',
    'unknown disk': 'rejected mail.attachment-missing: "small.txt" does not exist',
    'bad path': 'rejected mail.attachment-missing: "small.txt" does not exist',
    'bad type': 'rejected mail.attachment-invalid: "small.txt" has no valid media type',
    'bad content id': 'rejected mail.attachment-invalid: "small.txt" has no valid content id',
    'same content id': 'rejected mail.attachment-invalid: Two files have the content id "a"',
    'no place': 'rejected mail.attachment-invalid: "link.txt" has no disk and path',
  })
  t.same(server.sessions, 0, 'no connection was opened')
})

t.test('a retry reads the file again', async (t) => {
  const { server, put, send } = await start(t)
  const content = randomBytes(200_000)
  const file = await put('a.bin', content)
  server.behave({ onMail: { code: 451, text: 'Later' } })
  t.hasStrict(await send([file]), { outcome: 'deferred', errorCode: 'mail.deferred' })
  server.behave({})
  t.hasStrict(await send([file]), { outcome: 'accepted' })
  t.same(leavesOf(server.received.at(-1)?.raw ?? '').at(-1)?.body, content)
})

t.test(
  'a file that stalls, changes or fails while it is sent ends the mail, which the recipient does not get',
  async (t) => {
    const chunk = Buffer.alloc(mib / 2)
    let isStalled = false
    const contents = {
      async *stalls() {
        yield chunk
        isStalled = true
        await new Promise(() => {})
      },
      async *shrinks() {
        yield chunk
      },
      async *grows() {
        for (let count = 0; count < 4; count++) yield chunk
      },
      async *fails() {
        yield chunk
        throw new Error('The disk failed')
      },
    }
    const config = { 'platform.mail.send-deadline': '1m' }
    const { server, clock, send, put, directory } = await start(t, config, faultyDisk(contents, mib))
    const results: Record<string, string> = {}
    for (const path of Object.keys(contents)) {
      const sending = send([{ name: `${path}.bin`, disk: 'faulty', path }])
      if (path === 'stalls') {
        await until(() => isStalled, 'the file stalls')
        await clock.advance(5_000)
      }
      const { outcome, errorCode, errorMessage } = await sending
      results[path] = `${outcome} ${errorCode}: ${errorMessage}`
    }
    t.same(results, {
      stalls: 'deferred mail.attachment-unavailable: "stalls.bin" could not be read: no bytes within 5000 ms',
      shrinks: 'deferred mail.attachment-unavailable: "shrinks.bin" changed while it was sent',
      grows: 'deferred mail.attachment-unavailable: "grows.bin" changed while it was sent',
      fails: 'deferred mail.attachment-unavailable: "fails.bin" could not be read',
    })
    t.same(server.received, [])
    t.hasStrict(await send([await put('a.txt', Buffer.from('a'))]), { outcome: 'accepted' }, 'the next mail is sent')
    const files = await start(
      t,
      { ...config, 'platform.mail.driver': 'file', 'platform.mail.file.directory': join(directory, 'eml') },
      faultyDisk(contents, mib),
    )
    t.hasStrict(await files.send([{ name: 'x', disk: 'faulty', path: 'fails' }]), {
      errorCode: 'mail.attachment-unavailable',
    })
    t.same(readdirSync(join(directory, 'eml')), [], 'no incomplete file is left')
  },
)

t.test('a file of 25 MiB is sent with little memory, also in a signed mail', async (t) => {
  const content = randomBytes(25 * mib)
  const hash = createHash('sha256').update(content).digest('hex')
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const dkim = {
    'platform.mail.dkim.domain': 'shop.example',
    'platform.mail.dkim.selector': 's1',
    'platform.mail.dkim.private-key': privateKey,
  }
  const received: string[] = []
  const large = {
    'platform.mail.attachments.max-size': '25MiB',
    'platform.mail.attachments.max-total-size': '25MiB',
    // Collecting garbage takes most of the time.
    'platform.mail.send-deadline': '5m',
  }
  for (const config of [large, { ...large, ...dkim }]) {
    // The memory of buffers is freed after a collection, at the latest when the next one begins.
    const used = () => {
      collectGarbage()
      collectGarbage()
      return process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed
    }
    let [before, peak] = [0, 0]
    // This server stores nothing: it decodes the last part of each mail while it arrives, and measures the memory ten times.
    const server = await startMailServer(t, {
      async onData(stream, _session, done) {
        const decoded = createHash('sha256')
        let [rest, isBody, isFile, size, measuredAt] = ['', false, false, 0, 0]
        for await (const chunk of stream) {
          size += chunk.length
          if (size - measuredAt > 3.4 * mib) {
            measuredAt = size
            await setImmediate()
            peak = Math.max(peak, used() - before)
          }
          const lines = (rest + chunk.toString('latin1')).split('\r\n')
          rest = lines.pop() ?? ''
          for (const line of lines) {
            if (line.startsWith('--')) [isBody, isFile] = [false, false]
            else if (/^Content-Disposition: attachment/i.test(line)) isFile = true
            else if (line === '') isBody = true
            else if (isBody && isFile) decoded.update(Buffer.from(line, 'base64'))
          }
        }
        received.push(decoded.digest('hex'))
        done(null, 'Queued')
      },
    })
    const { put, send } = await start(t, { ...server.config, ...config })
    const file = await put('large.bin', content)
    before = used()
    t.hasStrict(await send([file]), { outcome: 'accepted' })
    t.ok(peak > 0 && peak < 12 * mib, `peak of ${Math.round(peak / mib)} MiB`)
  }
  t.same(received, [hash, hash])
})

t.test('the keys of attachments are effective', async (t) => {
  const observe = async (values: KeyValues) => {
    const { put, send } = await start(t, values)
    const files = [await put('a.txt', Buffer.alloc(2_000)), await put('b.txt', Buffer.alloc(2_000))]
    const { outcome, errorCode } = await send(files)
    return errorCode || outcome
  }
  const seen = [
    await assertKeyEffect(t, 'platform.mail.attachments.max-count', { changed: 1, observe }),
    await assertKeyEffect(t, 'platform.mail.attachments.max-size', { changed: '1KiB', observe }),
    await assertKeyEffect(t, 'platform.mail.attachments.max-total-size', { changed: '3KiB', observe }),
    await assertKeyEffect(t, 'platform.mail.attachments.refused', { changed: '.txt', observe }),
  ]
  t.same(
    seen.map(([effect]) => [effect?.before, effect?.after]),
    [
      ['accepted', 'mail.attachment-too-many'],
      ['accepted', 'mail.attachment-too-large'],
      ['accepted', 'mail.attachment-too-large'],
      ['accepted', 'mail.attachment-refused'],
    ],
  )
})
