export * from './half-open-proxy.ts'
export * from './start-migrated.ts'
export * from './statement-plans.ts'
export * from './test-database.ts'
