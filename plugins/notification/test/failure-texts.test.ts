/** Tests that the pages show the reason of a failed send in both languages. */
import t from 'tap'
import { sendPages } from '../src/admin-pages.ts'

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
