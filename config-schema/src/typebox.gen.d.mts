export * from './typebox-builders.ts'
