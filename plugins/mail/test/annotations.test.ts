/** Data in a mail that lets a later report find its send. */
import { type AddressInfo, createServer } from 'node:net'
import { startForTest } from '@plinth/dev/testing'
import { defineProduct, sendReference } from '@plinth/kernel'
import t, { type Test } from 'tap'
import mailPlugin, { type MailAnnotations, mail } from '../src/index.ts'

/** Starts an SMTP server that records the commands of its clients. */
async function startServer(t: Test, extensions: readonly string[]) {
  const commands: string[] = []
  const server = createServer((socket) => {
    let isData = false
    socket.on('error', () => {})
    socket.write('220 test\r\n')
    socket.setEncoding('utf8').on('data', (text: string) => {
      for (const line of text.split('\r\n').filter(Boolean)) {
        commands.push(line)
        if (isData) {
          if (line !== '.') continue
          isData = false
          socket.write('250 Queued\r\n')
        } else if (line.startsWith('EHLO')) {
          socket.write(
            ['test', ...extensions]
              .map((name, at, all) => `250${at === all.length - 1 ? ' ' : '-'}${name}\r\n`)
              .join(''),
          )
        } else if (line === 'DATA') {
          isData = true
          socket.write('354 Go\r\n')
        } else socket.write('250 OK\r\n')
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise((resolve) => server.close(resolve)))
  const { port } = server.address() as AddressInfo
  const config = {
    'platform.mail.driver': 'smtp',
    'platform.mail.from': 'Shop <noreply@shop.example>',
    'platform.mail.smtp.host': '127.0.0.1',
    'platform.mail.smtp.port': port,
    'platform.mail.smtp.security': 'opportunistic',
  }
  const running = await startForTest(defineProduct({ name: 'mails', plugins: [mailPlugin], config }))
  t.teardown(() => running.stop('test ended'))
  const facility = running.service(mail)
  const send = async (annotations?: (reference: string) => MailAnnotations | Promise<MailAnnotations>) => {
    if (annotations !== undefined) facility.annotate(annotations)
    commands.length = 0
    const message = { to: ['ada@example.com'], subject: 'Hello', text: 'Dear Ada' }
    const { deliveries, messageId } = await facility.send(message, { idempotencyKey: 'order-7' })
    return { outcome: deliveries[0]?.outcome, messageId, commands: [...commands] }
  }
  return { send }
}

const returnPath = 'bounce+token@shop.example'
const reference = sendReference('order-7')
const find = (commands: readonly string[], start: string) => commands.find((line) => line.startsWith(start))

t.test('a mail with a return path asks for a report, if the server supports it (RFC 3461)', async (t) => {
  const { send } = await startServer(t, ['DSN'])
  const plain = await send()
  t.equal(find(plain.commands, 'MAIL'), 'MAIL FROM:<noreply@shop.example>')
  t.equal(find(plain.commands, 'RCPT'), 'RCPT TO:<ada@example.com>')
  t.equal(plain.messageId, `<${reference}@shop.example>`, 'the id contains the reference')

  const references: string[] = []
  const annotated = await send((given) => {
    references.push(given)
    return { returnPath, headers: { 'X-PM-Metadata-ref': given } }
  })
  t.equal(annotated.outcome, 'accepted')
  t.same(references, [reference])
  t.equal(find(annotated.commands, 'MAIL'), `MAIL FROM:<${returnPath}> RET=HDRS ENVID=${reference}`)
  t.equal(find(annotated.commands, 'RCPT'), 'RCPT TO:<ada@example.com> NOTIFY=FAILURE,DELAY')
  t.equal(find(annotated.commands, 'X-PM-Metadata-ref'), undefined, 'names of headers are written in one form')
  t.equal(find(annotated.commands, 'X-Pm-Metadata-Ref'), `X-Pm-Metadata-Ref: ${reference}`)
  t.equal(find(annotated.commands, 'From:'), 'From: Shop <noreply@shop.example>', 'recipients see the sender')
})

t.test('without the extension the mail has a plain envelope, and a failing annotation does not stop it', async (t) => {
  const { send } = await startServer(t, ['8BITMIME'])
  const { outcome, commands } = await send(() => ({ returnPath }))
  t.equal(outcome, 'accepted')
  t.equal(find(commands, 'MAIL'), `MAIL FROM:<${returnPath}>`)
  t.equal(find(commands, 'RCPT'), 'RCPT TO:<ada@example.com>')
  const failed = await send(() => Promise.reject(new Error('no key')))
  t.equal(failed.outcome, 'accepted')
  t.equal(find(failed.commands, 'MAIL'), 'MAIL FROM:<noreply@shop.example>')
})
