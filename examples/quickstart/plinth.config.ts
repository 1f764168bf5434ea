import { defineProduct } from '@plinth/kernel'
import opentelemetry from '@plinth/opentelemetry'
import { commerce } from '@plinth/presets/commerce'
import { notifications } from '@plinth/presets/notifications'
import { operations } from '@plinth/presets/operations'
import { platform } from '@plinth/presets/platform'
import { web3Payments } from '@plinth/presets/web3-payments'
import quickstartCleanup from '@plinth/quickstart-cleanup'
import storageS3 from '@plinth/storage-s3'
import mall from '@plinth-example/mall'

export default defineProduct({
  name: 'quickstart',
  plugins: [
    ...platform,
    opentelemetry,
    storageS3,
    ...operations,
    ...notifications,
    ...commerce,
    ...web3Payments,
    quickstartCleanup,
    mall,
  ],
  config: { 'platform.rate-limit.default-store': 'shared-window' },
})
