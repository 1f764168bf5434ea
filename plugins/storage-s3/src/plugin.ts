import { definePlugin, healthCheck } from '@plinth/kernel'
import { outgoingHttp } from '@plinth/outgoing-http'
import { storageDisk } from '@plinth/storage'
import { keys } from './config.ts'

const disks = [
  { name: 's3-private', directory: 'private/', visibility: 'private' },
  { name: 's3-public', directory: 'public/', visibility: 'public' },
] as const

/** Disks in a bucket of an S3 server. */
export default definePlugin({
  id: 'storage-s3',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { outgoingHttp },
  contributes: [storageDisk, healthCheck],
  config: keys,
  configGroups: { 'storage-s3': { en: 'Storage on S3', 'zh-CN': 'S3 存储' } },
  async setup({ services, config, clock, log, contribute }) {
    const bucket = config.get('platform.storage-s3.bucket')
    if (bucket === '') return
    // A product without a bucket loads neither the signer nor the XML parser.
    const { createS3Disk } = await import('./s3-disks.ts')
    for (const { name, directory, visibility } of disks) {
      const disk = createS3Disk({ config, http: services.outgoingHttp, clock, log }, directory, visibility)
      contribute(storageDisk, name, disk)
      // The health check of the storage verifies the disk.
      contribute(healthCheck, name, () => ({ warnings: disk.probe.warnings }))
    }
  },
})
