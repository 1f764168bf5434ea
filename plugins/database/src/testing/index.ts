export * from './half-open-proxy.ts'
export * from './test-database.ts'
