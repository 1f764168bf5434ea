import database from '@plinth/database'
import http from '@plinth/http'
import i18n from '@plinth/i18n'
import iam from '@plinth/iam'
import { defineProduct } from '@plinth/kernel'
import notification from '@plinth/notification'
import logChannel from '@plinth/notification-channels/log'
import rateLimit from '@plinth/rate-limit'
import memoryStore from '@plinth/rate-limit-stores/memory'
import scheduler from '@plinth/scheduler'
import site from '@plinth/site'

export default defineProduct({
  name: 'sample-name',
  plugins: [database, http, i18n, iam, notification, logChannel, rateLimit, memoryStore, scheduler, site],
  config: { 'platform.rate-limit.default-store': 'memory' },
})
