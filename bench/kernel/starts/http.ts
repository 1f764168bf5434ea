import { writeSync } from 'node:fs'
import http from '@plinth/http'
import i18n from '@plinth/i18n'
import { defineProduct } from '@plinth/kernel'
import { startProduct } from '@plinth/kernel/host'

const config = { 'platform.http.host': '127.0.0.1', 'platform.http.port': 0, 'platform.log.level': 'fatal' }
await startProduct(defineProduct({ name: 'listening', plugins: [http, i18n], config }), { envFile: false })
writeSync(1, 'ready\n')
