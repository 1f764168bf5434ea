import { adminAttention, adminDetail } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

const states = {
  agrees: text('Agrees', '一致'),
  ahead: text('Host is ahead', '主机超前'),
  behind: text('Host is behind', '主机滞后'),
}
const remedies = {
  correct: text('Make the clocks of host and database server agree', '校准主机与数据库服务器的时钟'),
  confirm: text('Correct the clock of the host, or confirm it', '校准主机时钟，或确认其正确'),
}

/** The clock of the instance that responds. */
export const clockPage = adminDetail('getAdminSchedulerClock', (it) => ({
  id: 'scheduler.clock',
  title: text('Clock', '时钟'),
  place: { group: 'activity', order: 50 },
  sections: [
    {
      columns: [
        it.status('state', { agrees: 'good', ahead: 'bad', behind: 'bad' }, { labels: states }),
        it.count('differenceMs', { title: text('Difference', '偏差'), unit: 'ms' }),
        it.status(
          'remedy',
          { correct: 'info', confirm: 'info' },
          { title: text('Remedy', '处理方法'), labels: remedies },
        ),
        it.time('hostTime', { title: text('Time of the host', '主机时间') }),
        it.time('databaseTime', { title: text('Time of the database', '数据库时间') }),
        it.time('expiryTime', { title: text('Time of expiry', '到期判定时间') }),
      ],
    },
  ],
  actions: [
    it.action('postAdminSchedulerClockConfirm', {
      label: text('Confirm the clock', '确认时钟'),
      confirm: text(
        'The time of the host is correct. What has expired by this time expires, and irreversible tasks run again.',
        '主机时间正确。按此时间已到期的内容将会过期，不可逆任务将恢复执行。',
      ),
      params: {},
      when: { remedy: 'confirm' },
      tone: 'danger',
    }),
  ],
}))

export const clockAttention = adminAttention('getAdminSchedulerClock', {
  id: 'scheduler.clock',
  title: text('Clock that differs; irreversible tasks do not run', '时钟不一致，不可逆任务未执行'),
  tone: 'bad',
  count: 'problems',
  page: { id: 'scheduler.clock' },
})
