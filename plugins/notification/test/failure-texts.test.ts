/** Tests that the pages show the reason of a failed send in both languages. */
import { onSqlite } from '@plinth/dev/testing/database'
import { http } from '@plinth/http'
import { definePlugin } from '@plinth/kernel'
import t from 'tap'
import { sendPages } from '../src/admin-pages.ts'
import { rejectSend, startSendLog } from './fixtures/send-log-product.ts'

t.test('the send log shows the reason of a failure in both languages, in the list and on the page', async (t) => {
  const columns = sendPages.map((page) =>
    page.kind === 'list' ? page.columns : page.sections.flatMap((section) => section.columns),
  )
  for (const ofPage of columns.slice(0, 2)) {
    const reason = ofPage.find(({ field }) => field === 'errorCode')
    t.strictSame(reason?.labels?.['mail.unreachable'], {
      en: 'The mail server cannot be reached',
      'zh-CN': '无法连接邮件服务器',
    })
    t.not(reason?.hidden, true)
  }
})

t.test('a retry shows its reason in both languages', async (t) => {
  for (const page of sendPages) {
    const retries = [...(page.actions ?? []), ...(page.kind === 'list' ? (page.bulk ?? []) : [])]
    for (const { answer = [] } of retries)
      t.ok(answer.find(({ field }) => field === 'result.errorCode')?.labels?.['notification.deadline-exceeded'])
  }
})

onSqlite(t, 'a hint of the send log is in the language of the reader', async (t, at) => {
  const texts = definePlugin({
    id: 'acme',
    version: '1.0.0',
    kernel: '^1.0.0',
    messages: { en: { acme: { key: 'Check the key' } }, 'zh-CN': { acme: { key: '请检查密钥' } } },
  })
  const { facade, running, sms } = await startSendLog(t, at, { plugins: [texts] })
  sms.behave = async (...sent) => ({ ...(await rejectSend(...sent)), hint: 'messages.acme.key' })
  const recipients = [{ kind: 'mobile', number: '13800138000' }] as const
  const [result] = await facade.send({ content: 'Hi', recipients }, { channels: ['sms'] })
  t.equal(result?.hint, 'Check the key', 'the caller gets a text')
  const path = '/api/v1/notification-send-logs'
  const hintOf = async (language: string) => {
    const read = async (url: string) =>
      (await running.service(http).inject({ url, headers: { 'accept-language': language } })).json().data
    const { items } = await read(path)
    return [items[0].hint, (await read(`${path}/${items[0].id}`)).hint]
  }
  t.strictSame(await hintOf('en'), ['Check the key', 'Check the key'])
  t.strictSame(await hintOf('zh-CN'), ['请检查密钥', '请检查密钥'])
})
